import { call } from './call.ts'
import { type CredentialFacts, parseFacts } from './credential.ts'
import { type Brand, type CredentialStore, type Kept, openCredentialStore } from './credential-store.ts'
import { describeScope, describeScopes, fill, fillPlural } from './describe.ts'
import {
  createElement,
  createIdentity,
  fillSite,
  formatDay,
  formatTime,
  readPageData,
  readPageMessages,
  requireElement,
  showMessage,
} from './page.ts'
import { type CredentialStatus, loadStatuses } from './statuses.ts'
import { findOfferCode, handleOffers } from './wallet-offer.ts'

type Status = CredentialStatus | 'checking' | 'unreachable'
type View = 'list' | 'claim' | 'claimed' | 'pass'

/** One entry of the wallet. */
interface Pass {
  readonly facts: CredentialFacts
  readonly kept: Kept
  /** The name of the site, or its id. */
  readonly site: string
}

const LOOK_MS = 4000
const STATUS_WAIT_MS = 10_000
const SOON_MS = 86_400_000
/** How many characters at the end of an id are shown to distinguish two credentials. */
const ID_END = 6

const { origin, accent_path } = readPageData<{ readonly origin: string; readonly accent_path: string }>()
const messages = readPageMessages<'wallet'>()
const { page, common, lang } = messages
const notice = requireElement('notice', HTMLDivElement)
const problem = requireElement('problem', HTMLDivElement)
const dialog = requireElement('confirm', HTMLDialogElement)
const current = requireElement('passes', HTMLDivElement)
const past = requireElement('past', HTMLDetailsElement)
const pastPasses = requireElement('past-passes', HTMLDivElement)
const passView = requireElement('view-pass', HTMLElement)

const statuses = new Map<string, Status>()
let passes: readonly Pass[] = []
/** What the list shows now, so that it is not built again without a reason. */
let shownList = ''
let lastAnswer: Promise<unknown> = Promise.resolve()

const statusFor = (id: string): Status => statuses.get(id) ?? 'checking'
const isPast = ({ facts }: Pass) => ['revoked', 'expired'].includes(statusFor(facts.id))

function showView(view: View, pass?: Pass): void {
  showBrand(pass?.kept.brand, pass?.site)
  for (const one of ['list', 'claim', 'claimed', 'pass'] as const)
    requireElement(`view-${one}`, HTMLElement).hidden = one !== view
}

/** The accent and the links of one site, or of none. The list shows several sites. */
function showBrand({ accent, supportUrl, privacyUrl }: Brand = {}, site = ''): void {
  document.getElementById('accent')?.remove()
  if (accent !== undefined) {
    const href = accent_path.replace('-000000', accent.replace('#', '-'))
    document.head.append(Object.assign(createElement('link', ''), { id: 'accent', rel: 'stylesheet', href }))
  }
  const links = [
    { href: supportUrl, content: fillSite(common.contact, site) },
    { href: privacyUrl, content: [common.privacy] },
  ]
  requireElement('site-links', HTMLSpanElement).replaceChildren(
    ...links.flatMap(({ href, content }) =>
      href === undefined
        ? []
        : [
            Object.assign(createElement('a', '', createElement('span', '', ...content)), {
              href,
              rel: 'noreferrer noopener',
            }),
          ],
    ),
  )
}

/**
 * Asks the user to confirm something that cannot be undone. The browser reports the end of a dialog
 * a moment after it, so the next dialog waits for that: the report must not count as its answer.
 */
function confirmAction(title: string, text: readonly Node[], yes: string): Promise<boolean> {
  const answer = lastAnswer.then(() => showDialog(title, text, yes))
  lastAnswer = answer
  return answer
}

function showDialog(title: string, text: readonly Node[], yes: string): Promise<boolean> {
  requireElement('confirm-title', HTMLHeadingElement).textContent = title
  requireElement('confirm-text', HTMLDivElement).replaceChildren(...text)
  requireElement('confirm-yes', HTMLButtonElement).textContent = yes
  dialog.returnValue = ''
  dialog.showModal()
  return new Promise((resolve) => {
    dialog.addEventListener('close', () => resolve(dialog.returnValue === 'yes'), { once: true })
  })
}

function createPill({ id, validUntilMs }: CredentialFacts): HTMLSpanElement {
  const status = statusFor(id)
  const shown = status === 'active' && validUntilMs - Date.now() < SOON_MS ? 'soon' : status
  return createElement('span', `pill ${shown}`, common[shown])
}

/** One line of the list; it leads to the details. */
function createPassLink(pass: Pass): HTMLAnchorElement {
  const { facts, kept, site } = pass
  const isOver = isPast(pass)
  const lines = isOver
    ? [
        kept.endedAtMs === undefined
          ? fill(common.until, { time: formatDay(facts.validUntilMs, lang) })
          : fill(page.endedByYou, { time: formatTime(kept.endedAtMs, lang) }),
      ]
    : [
        fill(common.until, { time: formatDay(facts.validUntilMs, lang) }),
        kept.lastUsedAtMs === undefined
          ? page.neverUsed
          : fill(page.usedAt, { time: formatDay(kept.lastUsedAtMs, lang) }),
      ]
  const link = createElement(
    'a',
    'pass',
    createElement(
      'span',
      '',
      createElement('b', '', describeScopes(facts.scope, messages).join(', ')),
      createElement('span', 'unseen', `, ${site}, ${fill(page.idEnding, { end: facts.id.slice(-ID_END) })}`),
      ...(isOver ? [createElement('small', '', createElement('bdi', '', site))] : []),
      ...lines.map((line) => createElement('small', '', line)),
    ),
    createPill(facts),
  )
  link.href = `#pass=${facts.id}`
  link.dataset.credential = facts.id
  return link
}

/** The entries of one site. */
function createGroup(group: readonly Pass[]): HTMLElement {
  const [{ facts, site } = { facts: { siteId: '' }, site: '' }] = group
  const brand = group.find(({ kept }) => kept.brand)?.kept.brand
  return createElement(
    'section',
    'group',
    createIdentity(facts.siteId, site, messages, { brand, heading: 'h2' }),
    createElement('div', 'passes', ...group.map(createPassLink)),
  )
}

function showList(): void {
  const used = passes.filter((one) => !isPast(one))
  const over = passes.filter(isPast)
  requireElement('empty', HTMLDivElement).hidden = passes.length > 0
  const wanted = JSON.stringify(
    passes.map(({ facts, kept }) => [facts.id, statusFor(facts.id), kept.lastUsedAtMs, kept.endedAtMs]),
  )
  if (wanted === shownList) return
  shownList = wanted
  const list = requireElement('view-list', HTMLElement)
  const focused = document.activeElement
  const hadFocus = list.contains(focused) && focused instanceof HTMLElement
  const focusedId = hadFocus ? focused.dataset.credential : undefined
  const groups = Map.groupBy(used, ({ facts }) => facts.siteId)
  current.replaceChildren(...[...groups.values()].map(createGroup))
  pastPasses.replaceChildren(...over.map(createPassLink))
  past.hidden = over.length === 0
  past
    .querySelector('summary')
    ?.replaceChildren(fill(page.past, { count: new Intl.NumberFormat(lang).format(over.length) }))
  // What had the focus may be somewhere else now, or gone.
  if (hadFocus && !focused.isConnected) focusPass(focusedId)
}

/** Moves the focus to an entry of the list, or to its heading. */
function focusPass(id: string | undefined): void {
  const link = [...document.querySelectorAll<HTMLAnchorElement>('a[data-credential]')].find(
    (one) => one.dataset.credential === id,
  )
  if (link !== undefined && pastPasses.contains(link)) past.open = true
  ;(link ?? requireElement('list-title', HTMLHeadingElement)).focus()
}

function createFact(name: string, value: Node | string): readonly Node[] {
  return [createElement('dt', '', name), createElement('dd', '', value)]
}

function createButton(className: string, label: string, run: () => void): HTMLButtonElement {
  const button = createElement('button', className, label)
  button.type = 'button'
  button.addEventListener('click', run)
  return button
}

/** The details of one entry. */
function showPass(pass: Pass, store: CredentialStore): void {
  const { facts, kept, site } = pass
  const isOver = isPast(pass)
  const back = createElement('a', 'back', page.title)
  back.href = '#list'
  const title = createElement('h1', '', describeScopes(facts.scope, messages).join(', '))
  title.id = 'pass-title'
  title.tabIndex = -1
  const goTo =
    kept.siteUrl === undefined ? [] : [createElement('a', 'btn block', ...fillSite(page.goTo, site))]
  for (const link of goTo) Object.assign(link, { href: kept.siteUrl, rel: 'noreferrer' })
  const sheet = createElement(
    'div',
    'sheet',
    createIdentity(facts.siteId, site, messages, { brand: kept.brand }),
    createElement('div', 'choice-top', title, createPill(facts)),
    createElement(
      'ul',
      'can',
      ...facts.scope.map((one) => {
        const words = describeScope(one, messages)
        const code = words === one ? [] : [' ', createElement('code', '', one)]
        return createElement('li', isOver ? 'not' : '', createElement('span', '', words, ...code))
      }),
    ),
    createElement(
      'dl',
      'kv',
      ...createFact(page.validUntil, formatTime(facts.validUntilMs, lang)),
      ...createFact(page.added, formatTime(kept.keptAtMs, lang)),
      ...createFact(
        page.lastUsed,
        kept.lastUsedAtMs === undefined ? page.neverUsed : formatTime(kept.lastUsedAtMs, lang),
      ),
      ...createFact(page.worksIn, page.thisBrowser),
      ...createFact(page.id, createElement('code', '', facts.id)),
    ),
    createElement(
      'div',
      'stack',
      ...(isOver ? [] : goTo),
      createButton('btn block quiet', page.remove, () => void removePass(pass, store)),
    ),
  )
  const others = isOver
    ? []
    : [
        createElement(
          'div',
          'sheet danger',
          createElement('h2', '', page.endLead),
          createElement('p', 'meta', ...fillSite(page.endNext, site)),
          createElement(
            'div',
            'stack',
            createButton('btn block danger outline', page.end, () => void confirmEnd(pass, store)),
          ),
        ),
        createElement(
          'div',
          'sheet',
          createElement('h2', '', page.otherDevice),
          createElement('p', 'meta', ...fillSite(page.otherDeviceNext, site)),
        ),
      ]
  const hadFocus = passView.contains(document.activeElement)
  passView.dataset.shown = `${facts.id} ${statusFor(facts.id)}`
  passView.replaceChildren(back, sheet, ...others)
  if (hadFocus) title.focus()
}

function showClaimed(pass: Pass): void {
  const { facts, kept, site } = pass
  requireElement('claimed-site', HTMLDivElement).replaceChildren(
    createIdentity(facts.siteId, site, messages, { brand: kept.brand }),
  )
  requireElement('claimed-text', HTMLParagraphElement).replaceChildren(...fillSite(page.acceptedNext, site))
  const next = requireElement('continue', HTMLAnchorElement)
  next.replaceChildren(...fillSite(page.continueTo, site))
  next.hidden = kept.siteUrl === undefined
  if (kept.siteUrl !== undefined) next.href = kept.siteUrl
  showView('claimed', pass)
  document.querySelector('.stamp')?.classList.add('stamped')
  requireElement('claimed-title', HTMLHeadingElement).focus()
}

/** Reads the store again; another tab may have changed it. */
async function loadPasses(store: CredentialStore): Promise<void> {
  const kept = await store.all().catch(() => undefined)
  requireElement('loading', HTMLDivElement).hidden = true
  if (kept === undefined) return showMessage(problem, { title: page.notRead, next: page.notReadNext })
  for (const { id, isRevoked } of kept) if (isRevoked) statuses.set(id, 'revoked')
  passes = kept.flatMap((one) => {
    const facts = parseFacts(one.document)
    return facts === undefined ? [] : [{ facts, kept: one, site: one.siteName || facts.siteId }]
  })
  showList()
}

/**
 * Loads the status of each credential. Without an answer, a final status (revoked, expired) stays.
 */
async function refreshStatuses(store: CredentialStore): Promise<void> {
  const open = passes.filter(({ facts }) => statuses.get(facts.id) !== 'revoked')
  const loaded = await loadStatuses(
    open.map(({ facts }) => facts.id),
    STATUS_WAIT_MS,
  )
  const revoked: string[] = []
  for (const { facts, site } of open) {
    const { id, validUntilMs } = facts
    const before = statuses.get(id)
    // This page may have revoked it while it was waiting for the answer.
    if (before === 'revoked') continue
    const now = loaded.get(id) ?? (Date.now() < validUntilMs ? 'unreachable' : 'expired')
    statuses.set(id, now)
    if (now !== 'revoked') continue
    revoked.push(id)
    if (before === 'active') {
      const values = { site }
      showMessage(notice, { title: fill(page.revokedNow, values), next: fill(page.revokedNowNext, values) })
    }
  }
  showList()
  const shown = findPass()
  if (shown !== undefined && !passView.hidden) {
    if (passView.dataset.shown !== `${shown.facts.id} ${statusFor(shown.facts.id)}`) showPass(shown, store)
  }
  // Kept, so that it is still known without a connection. When it cannot be written, the next look
  // finds out again.
  if (revoked.length > 0) await store.markRevoked(revoked).catch(() => {})
}

async function confirmEnd(pass: Pass, store: CredentialStore): Promise<void> {
  const { site } = pass
  const count = findSame(pass).filter((one) => !isPast(one)).length
  const bullets = [
    fillPlural(page.endHere, count, lang),
    page.endElsewhere,
    fill(page.endAgain, { site }),
  ].map((line) => createElement('li', 'not', line))
  const list = createElement('ul', 'can', ...bullets)
  if (await confirmAction(fill(page.endTitle, { site }), [list], page.endConfirm))
    await endAccess(pass, store)
}

/** All entries of the same user at the same site, which end together. */
function findSame({ facts }: Pass): readonly Pass[] {
  return passes.filter((one) => one.facts.siteId === facts.siteId && one.facts.ppid === facts.ppid)
}

async function endAccess(pass: Pass, store: CredentialStore): Promise<void> {
  const { facts, kept, site } = pass
  const { document: credential, ppid, siteId } = facts
  showMessage(problem)
  showMessage(notice, { title: page.ending, next: '' }, { kind: 'good', focus: true })
  const body = { ppid, site_id: siteId, reason: 'revoked by the holder in the wallet' }
  const onSlow = () => showMessage(notice, { title: common.stillWorking, next: '' }, { kind: 'good' })
  const answered = await call(
    { path: '/api/wallet/revoke-user', body, key: kept.key, credential, onSlow },
    messages,
  )
  // A call whose answer was lost may have revoked it already.
  if ('rejection' in answered && answered.code !== 'credential_revoked') {
    showMessage(notice)
    const action = { label: common.again, run: () => void endAccess(pass, store) }
    return showMessage(problem, answered.rejection, {
      focus: true,
      ...(answered.code === undefined ? { action } : {}),
    })
  }
  // All of them, so that none is reported as revoked by another person.
  const ids = findSame(pass).map((one) => one.facts.id)
  const nowMs = Date.now()
  for (const id of ids) statuses.set(id, 'revoked')
  await store.markRevoked(ids, nowMs).catch(() => {})
  leaveToList()
  await loadPasses(store)
  past.open = true
  const askUrl = kept.brand?.supportUrl ?? kept.siteUrl
  const again = askUrl === undefined ? {} : { action: { label: page.askAgain, href: askUrl } }
  showMessage(
    notice,
    { title: fill(page.ended, { site }), next: fill(page.endedNext, { time: formatTime(nowMs, lang) }) },
    { kind: 'good', focus: true, ...again },
  )
}

async function removePass({ facts, site }: Pass, store: CredentialStore): Promise<void> {
  const text = createElement('p', '', fill(page.removeWarning, { site }))
  if (!(await confirmAction(page.removeTitle, [text], page.removeConfirm))) return
  await removeAll([facts.id], fill(page.removed, { site }), store)
}

async function clearPast(store: CredentialStore): Promise<void> {
  const ids = passes.filter(isPast).map(({ facts }) => facts.id)
  const text = createElement('p', '', page.clearWarning)
  if (!(await confirmAction(page.clearTitle, [text], page.clearConfirm))) return
  await removeAll(ids, page.cleared, store)
}

async function removeAll(ids: readonly string[], done: string, store: CredentialStore): Promise<void> {
  showMessage(problem)
  try {
    await store.remove(ids)
  } catch {
    return showMessage(problem, { title: page.notRemoved, next: page.notReadNext }, { focus: true })
  }
  leaveToList()
  await loadPasses(store)
  showMessage(notice, { title: done, next: '' }, { kind: 'good', focus: true })
}

/** Back to the list, without a step in the history. */
function leaveToList(): void {
  history.replaceState(null, '', location.pathname + location.search)
  showView('list')
}

/** The entry that the address names. */
function findPass(): Pass | undefined {
  const id = /^#pass=([\w-]+)$/.exec(location.hash)?.[1]
  return passes.find(({ facts }) => facts.id === id)
}

async function showPersistence(): Promise<void> {
  const isKept = await navigator.storage?.persisted?.().catch(() => true)
  requireElement('not-persistent', HTMLParagraphElement).hidden = isKept !== false || passes.length === 0
}

async function start(): Promise<void> {
  // Keys sign for the name under which the service knows itself, and this browser keeps them under
  // that name.
  if (location.origin !== origin)
    return location.replace(origin + location.pathname + location.search + location.hash)
  const store = await openCredentialStore().catch(() => undefined)
  requireElement('slow', HTMLParagraphElement).hidden = true
  if (store === undefined) {
    requireElement('loading', HTMLDivElement).hidden = true
    return showMessage(problem, { title: common.noStorage, next: common.noStorageNext })
  }
  const offers = handleOffers(store, messages, {
    showClaim: () => showView('claim'),
    showBrand,
    showList: () => showView('list'),
    async onKept(id) {
      await loadPasses(store)
      const pass = passes.find(({ facts }) => facts.id === id)
      if (pass !== undefined) showClaimed(pass)
      await Promise.all([refreshStatuses(store), showPersistence()])
    },
  })
  let openedId: string | undefined
  const follow = async (isFirst: boolean) => {
    if (findOfferCode() !== undefined) return offers()
    const pass = findPass()
    if (pass === undefined) {
      showView('list')
      if (!isFirst) focusPass(openedId)
      return
    }
    openedId = pass.facts.id
    showMessage(notice)
    showPass(pass, store)
    showView('pass', pass)
    if (!isFirst) requireElement('pass-title', HTMLHeadingElement).focus()
  }
  addEventListener('hashchange', () => void follow(false))
  requireElement('clear', HTMLButtonElement).addEventListener('click', () => void clearPast(store))
  for (const link of document.querySelectorAll<HTMLAnchorElement>('.languages a'))
    link.addEventListener('click', () => {
      link.hash = location.hash
    })
  const look = async () => {
    await loadPasses(store)
    await refreshStatuses(store)
  }
  // Another tab may have changed what is kept.
  addEventListener('focus', () => void look())
  setInterval(() => {
    if (!document.hidden) void refreshStatuses(store)
  }, LOOK_MS)
  await loadPasses(store)
  await Promise.all([refreshStatuses(store), showPersistence(), follow(true).then(() => resume(offers))])
  document.documentElement.dataset.ready = 'yes'
}

/** Goes on with claims that were interrupted, also without their link. */
async function resume(offers: () => Promise<void>): Promise<void> {
  if (findOfferCode() === undefined) await offers()
}

await start()
