import { call } from './call.ts'
import { parseFacts } from './credential.ts'
import type { Brand, CredentialStore, PendingClaim } from './credential-store.ts'
import { describeScope, fill } from './describe.ts'
import { createHolderKey } from './holder-key.ts'
import {
  createElement,
  createIdentity,
  fillSite,
  formatClock,
  formatDuration,
  type Message,
  type PageMessages,
  requireElement,
  showMessage,
} from './page.ts'

/** What POST /wallet/offer says. */
interface OfferDetails {
  readonly site_id: string
  readonly name: string | null
  readonly scope: readonly string[]
  readonly ttl_seconds: number
  readonly issuer: string
  readonly expires_at: string
  readonly site_url: string | null
  readonly logo_path: string | null
  readonly accent: string | null
  readonly support_url: string | null
  readonly privacy_url: string | null
}

/** How the wallet goes on. */
export interface OfferEvents {
  readonly showClaim: () => void
  /** The look of the site of the offer, once it is known. */
  readonly showBrand: (brand: Brand, site: string) => void
  readonly showList: () => void
  /** The credential with this id has been added. */
  readonly onKept: (id: string) => Promise<void>
}

/**
 * Rejections after which the offer can never be claimed. After any other, the same claim can be
 * repeated.
 */
const FINAL = new Set(['code_invalid', 'credential_revoked', 'key_rejected'])
/** Of an offer whose end is not known here. */
const OFFER_MS = 900_000

/**
 * Shows the offer in the address, and claims it when the person accepts. The key is saved before
 * the claim is sent, so that nothing is lost when the answer does not arrive or the page is closed:
 * the claim is repeated with the same key. Returns what to do when the address changes.
 */
export function handleOffers(
  store: CredentialStore,
  messages: PageMessages<'wallet'>,
  { showClaim, showBrand, showList, onKept }: OfferEvents,
): () => Promise<void> {
  const { page, common, lang } = messages
  const notice = requireElement('notice', HTMLDivElement)
  const problem = requireElement('problem', HTMLDivElement)
  const place = requireElement('view-claim', HTMLElement)
  const title = requireElement('offer-title', HTMLHeadingElement)
  const who = requireElement('offer-site', HTMLDivElement)
  const details = requireElement('offer-details', HTMLDivElement)
  const until = requireElement('offer-until', HTMLParagraphElement)
  const accept = requireElement('accept', HTMLButtonElement)
  let untilMs = Date.now() + OFFER_MS
  let found: OfferDetails | undefined
  let isBusy = false

  const setBusy = (busy: boolean, label: string = page.accept) => {
    isBusy = busy
    accept.setAttribute('aria-disabled', String(busy))
    accept.setAttribute('aria-busy', String(busy))
    accept.textContent = busy ? page.accepting : label
  }
  /**
   * Takes the code out of the address: it is used up or unwanted, and must not stay in the history.
   */
  const endOffer = (offer: string) => {
    if (findOfferCode() === offer) history.replaceState(null, '', location.pathname + location.search)
    if (findOfferCode() === undefined) showList()
  }
  const failed = (message: Message, again: () => void) => {
    setBusy(false, common.again)
    // The button of the offer repeats the claim. Without an offer in the address, the notice has
    // one.
    showMessage(problem, message, place.hidden ? { action: { label: common.again, run: again } } : {})
  }

  async function show(): Promise<void> {
    const offer = findOfferCode()
    if (offer === undefined) return
    showClaim()
    showMessage(problem)
    title.textContent = page.offerLoading
    who.replaceChildren()
    until.textContent = ''
    details.replaceChildren(
      createElement('div', 'skeleton tall', createElement('span', 'unseen', page.offerLooking)),
    )
    accept.disabled = true
    setBusy(false)
    const answered = await call({ path: '/wallet/offer', body: { offer } }, messages)
    if (findOfferCode() !== offer) return
    if ('rejection' in answered) {
      details.replaceChildren()
      if (!FINAL.has(answered.code ?? '')) {
        return showMessage(problem, answered.rejection, {
          focus: true,
          action: { label: common.again, run: show },
        })
      }
      endOffer(offer)
      return showMessage(problem, answered.rejection, { focus: true })
    }
    found = answered.answer as unknown as OfferDetails
    untilMs = Date.parse(found.expires_at)
    const site = found.name || found.site_id
    const brand = toBrand(found)
    showBrand(brand, site)
    who.replaceChildren(createIdentity(found.site_id, site, messages, { brand }))
    title.replaceChildren(...fillSite(page.offerTitle, site))
    details.replaceChildren(...toDetails(found, messages))
    until.textContent = fill(page.laterHint, { time: formatClock(untilMs, lang) })
    accept.disabled = false
  }

  async function claim(offer: string): Promise<void> {
    if (isBusy) return
    setBusy(true)
    showMessage(problem)
    showMessage(notice)
    const key = await createHolderKey().catch(() => undefined)
    if (key === undefined)
      return failed({ title: common.tooOld, next: common.tooOldNext }, () => claim(offer))
    const pending = await store
      .keepPending({
        offer,
        key,
        untilMs,
        ...(found?.name ? { siteName: found.name } : {}),
        ...(found?.site_url ? { siteUrl: found.site_url } : {}),
        ...(found === undefined ? {} : { brand: toBrand(found) }),
      })
      .catch(() => undefined)
    if (pending === undefined)
      return failed({ title: page.notKeptYet, next: page.notKeptYetNext }, () => claim(offer))
    await send(pending)
  }

  /** Also for a claim that was accepted before the page was loaded. */
  async function send(pending: PendingClaim): Promise<void> {
    const { offer, key, siteName, siteUrl, brand } = pending
    setBusy(true)
    const onSlow = () => showMessage(notice, { title: common.stillWorking, next: '' }, { kind: 'good' })
    const answered = await call(
      { path: '/wallet/claim', body: { offer, holder_key: key.did }, key, onSlow },
      messages,
    )
    showMessage(notice)
    if ('rejection' in answered) {
      if (!FINAL.has(answered.code ?? '')) return failed(answered.rejection, () => send(pending))
      setBusy(false)
      await store.removePending(offer).catch(() => {})
      endOffer(offer)
      return showMessage(problem, answered.rejection, { focus: true })
    }
    const facts = parseFacts(answered.answer.credential)
    if (facts === undefined)
      return failed({ title: common.noAnswer, next: common.noAnswerNext }, () => send(pending))
    try {
      await store.keepClaimed(offer, {
        id: facts.id,
        document: facts.document,
        key,
        keptAtMs: Date.now(),
        ...(siteName === undefined ? {} : { siteName }),
        ...(siteUrl === undefined ? {} : { siteUrl }),
        ...(brand === undefined ? {} : { brand }),
      })
    } catch {
      const time = formatClock(pending.untilMs, lang)
      return failed({ title: page.notKept, next: fill(page.notKeptNext, { time }) }, () => send(pending))
    }
    setBusy(false)
    // Asked for, not relied on: the browser may delete data that it has not promised to keep.
    await navigator.storage?.persist?.().catch(() => false)
    if (findOfferCode() === offer) history.replaceState(null, '', location.pathname + location.search)
    showMessage(problem)
    await onKept(facts.id)
  }

  accept.addEventListener('click', () => {
    const offer = findOfferCode()
    if (offer !== undefined) void claim(offer)
  })
  requireElement('later', HTMLButtonElement).addEventListener('click', () => {
    const offer = findOfferCode()
    if (offer === undefined || isBusy) return
    endOffer(offer)
    showMessage(
      notice,
      { title: page.laterDone, next: fill(page.laterHint, { time: formatClock(untilMs, lang) }) },
      { kind: 'good', focus: true },
    )
  })

  return async () => {
    const pendings = await store.pendingClaims().catch(() => [])
    const accepted = pendings.find(({ offer }) => offer === findOfferCode())
    for (const pending of accepted === undefined ? pendings : [accepted]) {
      showMessage(notice, { title: page.resuming, next: '' }, { kind: 'good' })
      await send(pending)
    }
    if (accepted === undefined) await show()
  }
}

/** The code of the offer in the address. */
export function findOfferCode(): string | undefined {
  return /^#offer=([A-Za-z0-9_-]{43})$/.exec(location.hash)?.[1]
}

function toBrand({ logo_path, accent, support_url, privacy_url }: OfferDetails): Brand {
  return {
    ...(logo_path && { logoPath: logo_path }),
    ...(accent && { accent }),
    ...(support_url && { supportUrl: support_url }),
    ...(privacy_url && { privacyUrl: privacy_url }),
  }
}

function toDetails(
  { site_id, scope, ttl_seconds, issuer }: OfferDetails,
  messages: PageMessages<'wallet'>,
): readonly Node[] {
  const { page, lang } = messages
  const scopes = scope.map((one) => {
    const words = describeScope(one, messages)
    const code = words === one ? [] : [' ', createElement('code', '', one)]
    return createElement('li', '', createElement('span', '', words, ...code))
  })
  const facts: readonly (readonly [string, Node | string])[] = [
    [page.offerFor, formatDuration(ttl_seconds, lang)],
    [page.worksIn, page.thisBrowser],
    [page.offerIssuer, createElement('bdi', '', issuer.replace(/^did:web:/, '').replace('%3A', ':'))],
  ]
  return [
    createElement('p', 'meta', ...fillSite(page.offerLead, site_id)),
    createElement('ul', 'can', ...scopes),
    createElement(
      'dl',
      'kv',
      ...facts.flatMap(([name, value]) => [createElement('dt', '', name), createElement('dd', '', value)]),
    ),
  ]
}
