import { call } from './call.ts'
import { parseFacts } from './credential.ts'
import type { CredentialStore, PendingClaim } from './credential-store.ts'
import { describeScope, fill } from './describe.ts'
import { createHolderKey } from './holder-key.ts'
import {
  createElement,
  formatDuration,
  formatTime,
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
 * the claim is repeated with the same key. `onKept` shows the new credential.
 */
export async function handleOffers(
  store: CredentialStore,
  messages: PageMessages<'wallet'>,
  onKept: () => Promise<void>,
): Promise<void> {
  const { page, common } = messages
  const notice = requireElement('notice', HTMLDivElement)
  const problem = requireElement('problem', HTMLDivElement)
  const place = requireElement('offer', HTMLElement)
  const title = requireElement('offer-title', HTMLHeadingElement)
  const details = requireElement('offer-details', HTMLDivElement)
  const accept = requireElement('accept', HTMLButtonElement)
  let untilMs = Date.now() + OFFER_MS
  let isBusy = false

  const setBusy = (busy: boolean, label: string = page.accept) => {
    isBusy = busy
    accept.setAttribute('aria-disabled', String(busy))
    accept.textContent = busy ? page.accepting : label
  }
  /**
   * Takes the code out of the address: it is used up or unwanted, and must not stay in the history.
   */
  const endOffer = (offer: string) => {
    if (findOfferCode() === offer) history.replaceState(null, '', location.pathname)
    place.hidden = findOfferCode() === undefined
  }
  const failed = (message: Message, again: () => void) => {
    setBusy(false, common.again)
    // The button of the offer repeats the claim. Without an offer in the address, the notice has
    // one.
    showMessage(problem, message, place.hidden ? { action: { label: common.again, run: again } } : {})
  }

  async function show(): Promise<void> {
    const offer = findOfferCode()
    place.hidden = offer === undefined
    if (offer === undefined) return
    showMessage(problem)
    title.textContent = page.offerLoading
    details.replaceChildren(createElement('p', 'quiet', page.offerLooking))
    accept.disabled = true
    setBusy(false)
    const answered = await call({ path: '/wallet/offer', body: { offer } }, messages)
    if (findOfferCode() !== offer) return
    if ('rejection' in answered) {
      if (!FINAL.has(answered.code ?? '')) {
        details.replaceChildren()
        return showMessage(problem, answered.rejection, {
          focus: true,
          action: { label: common.again, run: show },
        })
      }
      endOffer(offer)
      return showMessage(problem, answered.rejection, { focus: true })
    }
    const found = answered.answer as unknown as OfferDetails
    untilMs = Date.parse(found.expires_at)
    title.replaceChildren(...toTitle(page.offerTitle, found.name || found.site_id))
    details.replaceChildren(...toDetails(found, messages))
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
    const pending = await store.keepPending({ offer, key, untilMs }).catch(() => undefined)
    if (pending === undefined)
      return failed({ title: page.notKeptYet, next: page.notKeptYetNext }, () => claim(offer))
    await send(pending)
  }

  /** Also for a claim that was accepted before the page was loaded. */
  async function send(pending: PendingClaim): Promise<void> {
    const { offer, key } = pending
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
      await store.keepClaimed(offer, { id: facts.id, document: facts.document, key, keptAtMs: Date.now() })
    } catch {
      const time = formatTime(pending.untilMs, messages.lang)
      return failed({ title: page.notKept, next: fill(page.notKeptNext, { time }) }, () => send(pending))
    }
    setBusy(false)
    // Asked for, not relied on: the browser may delete data that it has not promised to keep.
    await navigator.storage?.persist?.().catch(() => false)
    endOffer(offer)
    showMessage(problem)
    await onKept()
    const values = { site: facts.siteId }
    showMessage(
      notice,
      { title: fill(page.accepted, values), next: fill(page.use, values) },
      { kind: 'good', focus: true },
    )
  }

  accept.addEventListener('click', () => {
    const offer = findOfferCode()
    if (offer !== undefined) void claim(offer)
  })
  requireElement('later', HTMLButtonElement).addEventListener('click', () => {
    const offer = findOfferCode()
    if (offer === undefined || isBusy) return
    endOffer(offer)
    const time = formatTime(untilMs, messages.lang)
    showMessage(
      notice,
      { title: page.laterDone, next: fill(page.laterDoneNext, { time }) },
      { kind: 'good', focus: true },
    )
  })
  addEventListener('hashchange', () => void begin())

  async function begin(): Promise<void> {
    const pendings = await store.pendingClaims().catch(() => [])
    const accepted = pendings.find(({ offer }) => offer === findOfferCode())
    for (const pending of accepted === undefined ? pendings : [accepted]) {
      place.hidden = true
      showMessage(notice, { title: page.resuming, next: '' }, { kind: 'good' })
      await send(pending)
    }
    if (accepted === undefined) await show()
  }
  await begin()
}

/** The code of the offer in the address. */
function findOfferCode(): string | undefined {
  return /^#offer=([A-Za-z0-9_-]{43})$/.exec(location.hash)?.[1]
}

/** Site names are isolated (`<bdi>`), because they may be written right to left. */
function toTitle(text: string, site: string): readonly (Node | string)[] {
  const [before = '', after = ''] = text.split('{site}')
  return [before, createElement('bdi', '', site), after]
}

function toDetails(
  { site_id, scope, ttl_seconds, issuer, expires_at }: OfferDetails,
  messages: PageMessages<'wallet'>,
): readonly Node[] {
  const { page, lang, verbs } = messages
  const scopes = createElement(
    'ul',
    'scopes',
    ...scope.map((one) =>
      createElement('li', '', describeScope(one, verbs), ' ', createElement('code', '', one)),
    ),
  )
  const facts: readonly (readonly [string, Node | string])[] = [
    [page.offerSite, createElement('bdi', '', site_id)],
    [page.offerFor, formatDuration(ttl_seconds, lang)],
    [page.offerIssuer, createElement('bdi', '', issuer.replace(/^did:web:/, '').replace('%3A', ':'))],
    [page.offerUntil, formatTime(Date.parse(expires_at), lang)],
  ]
  const list = createElement(
    'dl',
    'offer-facts',
    ...facts.flatMap(([name, value]) => [createElement('dt', '', name), createElement('dd', '', value)]),
  )
  return [list, createElement('h3', 'may', page.offerMay), scopes]
}
