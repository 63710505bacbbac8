import { call } from './call.ts'
import { type CredentialFacts, parseFacts } from './credential.ts'
import { type CredentialStore, type Kept, openCredentialStore } from './credential-store.ts'
import { describeScope, fill } from './describe.ts'
import type { HolderKey } from './holder-key.ts'
import {
  createElement,
  formatTime,
  type PageMessages,
  readPageData,
  requireElement,
  showMessage,
} from './page.ts'
import { type CredentialStatus, loadStatuses } from './statuses.ts'
import { handleOffers } from './wallet-offer.ts'

interface Data {
  readonly origin: string
  readonly messages: PageMessages<'wallet'>
}

type Status = CredentialStatus | 'checking' | 'unreachable'

const LOOK_MS = 4000
const STATUS_WAIT_MS = 10_000
/** How many characters at the end of an id are shown to distinguish two credentials. */
const ID_END = 6

const { origin, messages } = readPageData<Data>()
const { page, common } = messages
const notice = requireElement('notice', HTMLDivElement)
const problem = requireElement('problem', HTMLDivElement)
const list = requireElement('credentials', HTMLUListElement)
const dialog = requireElement('confirm', HTMLDialogElement)

const statuses = new Map<string, Status>()
const shown = new Map<string, CredentialFacts>()

const STATUS_WORDS: Readonly<Record<Status, string>> = {
  checking: page.statusChecking,
  active: page.statusActive,
  revoked: page.statusRevoked,
  expired: page.statusExpired,
  unknown: page.statusUnknown,
  unreachable: page.statusUnreachable,
}

let lastAnswer: Promise<unknown> = Promise.resolve()

/**
 * Asks the user to confirm something that cannot be undone. The browser reports the end of a dialog
 * a moment after it, so the next dialog waits for that: the report must not count as its answer.
 */
function confirmAction(title: string, warning: string, yes: string): Promise<boolean> {
  const answer = lastAnswer.then(() => showDialog(title, warning, yes))
  lastAnswer = answer
  return answer
}

function showDialog(title: string, warning: string, yes: string): Promise<boolean> {
  requireElement('confirm-title', HTMLHeadingElement).textContent = title
  requireElement('confirm-warning', HTMLParagraphElement).textContent = warning
  requireElement('confirm-yes', HTMLButtonElement).textContent = yes
  dialog.returnValue = ''
  dialog.showModal()
  return new Promise((resolve) => {
    dialog.addEventListener('close', () => resolve(dialog.returnValue === 'yes'), { once: true })
  })
}

function createCard(facts: CredentialFacts, { key, keptAtMs }: Kept, store: CredentialStore): HTMLLIElement {
  const { id, siteId: site, scope, validUntilMs } = facts
  const status = createElement('span', '')
  status.dataset.statusOf = id
  const scopes = createElement(
    'ul',
    'scopes',
    ...scope.map((one) =>
      createElement('li', '', describeScope(one, messages.verbs), ' ', createElement('code', '', one)),
    ),
  )
  const ends = fill(Date.now() < validUntilMs ? common.until : common.ended, {
    time: formatTime(validUntilMs, messages.lang),
  })
  const named = createElement(
    'dl',
    '',
    createElement('dt', '', page.id),
    createElement('dd', '', createElement('code', '', id)),
  )
  const revoke = createElement('button', 'danger', page.revoke)
  const remove = createElement('button', '', page.remove)
  for (const button of [revoke, remove]) {
    button.type = 'button'
    button.setAttribute(
      'aria-label',
      `${button.textContent}: ${site}, ${fill(page.credential, { end: id.slice(-ID_END) })}`,
    )
  }
  revoke.addEventListener('click', () => confirmRevoke(facts, key, store))
  remove.addEventListener('click', () => removeCredential(facts, store))
  const title = createElement('h3', '', createElement('bdi', '', site))
  // Takes the focus when a button of the card goes away.
  title.tabIndex = -1
  const item = createElement(
    'li',
    'card',
    createElement('div', 'credential-head', title, status),
    createElement(
      'p',
      'quiet',
      `${ends}. ${fill(common.since, { time: formatTime(keptAtMs, messages.lang) })}.`,
    ),
    createElement('h4', 'quiet', page.may),
    scopes,
    createElement('p', 'quiet use', fill(page.use, { site })),
    named,
    createElement('div', 'actions', revoke, remove),
  )
  item.dataset.credential = id
  return item
}

async function showAll(store: CredentialStore): Promise<void> {
  const kept = await store.all().catch(() => undefined)
  if (kept === undefined) return showMessage(problem, { title: page.notRead, next: page.notReadNext })
  for (const { id, isRevoked } of kept) if (isRevoked) statuses.set(id, 'revoked')
  // What is there already stays: the person may be about to press a button of it.
  if (kept.map(({ id }) => id).join() === [...shown.keys()].join()) return refreshStatuses(store)
  const hadFocus = list.contains(document.activeElement)
  shown.clear()
  const cards = kept.flatMap((one) => {
    const facts = parseFacts(one.document)
    if (facts === undefined) return []
    shown.set(one.id, facts)
    return [createCard(facts, one, store)]
  })
  list.replaceChildren(...cards)
  if (hadFocus) requireElement('list-title', HTMLHeadingElement).focus()
  showStatuses()
  await refreshStatuses(store)
}

function showStatuses(): void {
  for (const place of list.querySelectorAll<HTMLElement>('[data-status-of]')) {
    const status = statuses.get(place.dataset.statusOf ?? '') ?? 'checking'
    place.className = `status ${status}`
    if (place.textContent !== STATUS_WORDS[status]) place.textContent = STATUS_WORDS[status]
    const item = place.closest('li')
    const isOver = status === 'revoked' || status === 'expired'
    const use = item?.querySelector<HTMLElement>('.use')
    if (use) use.hidden = isOver
    const revoke = item?.querySelector<HTMLButtonElement>('button.danger')
    if (!revoke) continue
    if (isOver && document.activeElement === revoke) item?.querySelector('h3')?.focus()
    revoke.hidden = isOver
  }
}

/**
 * Loads the status of each credential. Without an answer, a final status (revoked, expired) stays.
 */
async function refreshStatuses(store: CredentialStore): Promise<void> {
  requireElement('empty', HTMLDivElement).hidden = shown.size > 0
  const open = [...shown.values()].filter(({ id }) => statuses.get(id) !== 'revoked')
  const loaded = await loadStatuses(
    open.map(({ id }) => id),
    STATUS_WAIT_MS,
  )
  const revoked: string[] = []
  for (const { id, siteId: site, validUntilMs } of open) {
    const before = statuses.get(id)
    // This page may have revoked it while it was waiting for the answer.
    if (before === 'revoked') continue
    const now = loaded.get(id) ?? (Date.now() < validUntilMs ? 'unreachable' : 'expired')
    statuses.set(id, now)
    if (now !== 'revoked') continue
    revoked.push(id)
    if (before === 'active') showMessage(notice, { title: fill(page.revoked, { site }), next: '' })
  }
  showStatuses()
  // Kept, so that it is still known without a connection. When it cannot be written, the next look
  // finds out again.
  if (revoked.length > 0) await store.markRevoked(revoked).catch(() => {})
}

async function confirmRevoke(facts: CredentialFacts, key: HolderKey, store: CredentialStore): Promise<void> {
  const values = { site: facts.siteId }
  if (
    await confirmAction(fill(page.revokeTitle, values), fill(page.revokeWarning, values), page.revokeConfirm)
  ) {
    await revokeAccess(facts, key, store)
  }
}

async function revokeAccess(facts: CredentialFacts, key: HolderKey, store: CredentialStore): Promise<void> {
  const { document: credential, ppid, siteId: site } = facts
  showMessage(problem)
  showMessage(notice, { title: page.revoking, next: '' }, { kind: 'good', focus: true })
  const body = { ppid, site_id: site, reason: 'revoked by the holder in the wallet' }
  const onSlow = () => showMessage(notice, { title: common.stillWorking, next: '' }, { kind: 'good' })
  const answered = await call({ path: '/api/wallet/revoke-user', body, key, credential, onSlow }, messages)
  // A call whose answer was lost may have revoked it already.
  if ('rejection' in answered && answered.code !== 'credential_revoked') {
    showMessage(notice)
    const action = { label: common.again, run: () => void revokeAccess(facts, key, store) }
    return showMessage(problem, answered.rejection, {
      focus: true,
      ...(answered.code === undefined ? { action } : {}),
    })
  }
  // All credentials of the user at this site, so that none of them is reported as revoked by
  // someone else.
  const ids = [...shown.values()]
    .filter((one) => one.siteId === site && one.ppid === ppid)
    .map(({ id }) => id)
  for (const id of ids) statuses.set(id, 'revoked')
  showMessage(notice, { title: fill(page.revoked, { site }), next: '' }, { kind: 'good', focus: true })
  showStatuses()
  await store.markRevoked(ids).catch(() => {})
}

async function removeCredential(
  { id, siteId: site }: CredentialFacts,
  store: CredentialStore,
): Promise<void> {
  if (!(await confirmAction(page.removeTitle, fill(page.removeWarning, { site }), page.removeConfirm))) return
  showMessage(problem)
  try {
    await store.remove(id)
  } catch {
    return showMessage(problem, { title: page.notRemoved, next: page.notReadNext }, { focus: true })
  }
  showMessage(notice, { title: fill(page.removed, { site }), next: '' }, { kind: 'good', focus: true })
  await showAll(store)
}

async function start(): Promise<void> {
  // Keys sign for the name under which the service knows itself, and this browser keeps them under
  // that name.
  if (location.origin !== origin) return location.replace(origin + location.pathname + location.hash)
  const store = await openCredentialStore().catch(() => undefined)
  requireElement('slow', HTMLParagraphElement).hidden = true
  if (store === undefined)
    return showMessage(problem, { title: common.noStorage, next: common.noStorageNext })
  // Another tab may have changed what is kept.
  addEventListener('focus', () => showAll(store))
  setInterval(() => {
    if (!document.hidden) void refreshStatuses(store)
  }, LOOK_MS)
  await Promise.all([showAll(store), handleOffers(store, messages, () => showAll(store))])
  document.documentElement.dataset.ready = 'yes'
}

await start()
