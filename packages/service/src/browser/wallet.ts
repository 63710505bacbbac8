import { call } from './call.ts'
import { type CredentialFacts, parseFacts } from './credential.ts'
import type { HolderKey } from './holder-key.ts'
import { make, type PageTexts, pageData, part, tell, timeWords } from './page.ts'
import { type CredentialStatus, loadStatuses } from './statuses.ts'
import { type Kept, openVault, type Vault } from './vault.ts'
import { handleOffers } from './wallet-offer.ts'
import { fill, scopeWords } from './words.ts'

interface Data {
  readonly origin: string
  readonly texts: PageTexts<'wallet'>
}

type Status = CredentialStatus | 'checking' | 'unreachable'

const LOOK_MS = 4000
const STATUS_WAIT_MS = 10_000
/** As many characters of an id tell two credentials apart. */
const ID_END = 6

const { origin, texts } = pageData<Data>()
const { page, common } = texts
const notice = part('notice', HTMLDivElement)
const problem = part('problem', HTMLDivElement)
const list = part('credentials', HTMLUListElement)
const dialog = part('confirm', HTMLDialogElement)

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

/** Asks, in plain words, before something that cannot be undone. */
function confirmed(title: string, warning: string, yes: string): Promise<boolean> {
  part('confirm-title', HTMLHeadingElement).textContent = title
  part('confirm-warning', HTMLParagraphElement).textContent = warning
  part('confirm-yes', HTMLButtonElement).textContent = yes
  dialog.returnValue = ''
  dialog.showModal()
  return new Promise((resolve) => {
    dialog.addEventListener('close', () => resolve(dialog.returnValue === 'yes'), { once: true })
  })
}

function card(facts: CredentialFacts, { key, keptAtMs }: Kept, vault: Vault): HTMLLIElement {
  const { id, siteId: site, scope, validUntilMs } = facts
  const status = make('span', '')
  status.dataset.statusOf = id
  const scopes = make(
    'ul',
    'scopes',
    ...scope.map((one) => make('li', '', scopeWords(one, texts.verbs), ' ', make('code', '', one))),
  )
  const ends = fill(Date.now() < validUntilMs ? common.until : common.ended, {
    time: timeWords(validUntilMs, texts.lang),
  })
  const named = make('dl', '', make('dt', '', page.id), make('dd', '', make('code', '', id)))
  const revoke = make('button', 'danger', page.revoke)
  const remove = make('button', '', page.remove)
  for (const button of [revoke, remove]) {
    button.type = 'button'
    button.setAttribute(
      'aria-label',
      `${button.textContent}: ${site}, ${fill(page.credential, { end: id.slice(-ID_END) })}`,
    )
  }
  revoke.addEventListener('click', () => askToRevoke(facts, key, vault))
  remove.addEventListener('click', () => removeCredential(facts, vault))
  const title = make('h3', '', make('bdi', '', site))
  // Takes the focus when a button of the card goes away.
  title.tabIndex = -1
  const item = make(
    'li',
    'card',
    make('div', 'credential-head', title, status),
    make('p', 'quiet', `${ends}. ${fill(common.since, { time: timeWords(keptAtMs, texts.lang) })}.`),
    make('h4', 'quiet', page.may),
    scopes,
    make('p', 'quiet use', fill(page.use, { site })),
    named,
    make('div', 'actions', revoke, remove),
  )
  item.dataset.credential = id
  return item
}

async function showAll(vault: Vault): Promise<void> {
  const kept = await vault.all().catch(() => undefined)
  if (kept === undefined) return tell(problem, { title: page.notRead, next: page.notReadNext })
  for (const { id, isRevoked } of kept) if (isRevoked) statuses.set(id, 'revoked')
  // What is there already stays: the person may be about to press a button of it.
  if (kept.map(({ id }) => id).join() === [...shown.keys()].join()) return look(vault)
  const hadFocus = list.contains(document.activeElement)
  shown.clear()
  const cards = kept.flatMap((one) => {
    const facts = parseFacts(one.document)
    if (facts === undefined) return []
    shown.set(one.id, facts)
    return [card(facts, one, vault)]
  })
  list.replaceChildren(...cards)
  if (hadFocus) part('list-title', HTMLHeadingElement).focus()
  showStatuses()
  await look(vault)
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
 * Asks the service how each credential stands. Without an answer, what is final stays: revoked and
 * expired.
 */
async function look(vault: Vault): Promise<void> {
  part('empty', HTMLDivElement).hidden = shown.size > 0
  const open = [...shown.values()].filter(({ id }) => statuses.get(id) !== 'revoked')
  const told = await loadStatuses(
    open.map(({ id }) => id),
    STATUS_WAIT_MS,
  )
  const revoked: string[] = []
  for (const { id, siteId: site, validUntilMs } of open) {
    const before = statuses.get(id)
    // This page may have revoked it while it was waiting for the answer.
    if (before === 'revoked') continue
    const now = told.get(id) ?? (Date.now() < validUntilMs ? 'unreachable' : 'expired')
    statuses.set(id, now)
    if (now !== 'revoked') continue
    revoked.push(id)
    if (before === 'active') tell(notice, { title: fill(page.revoked, { site }), next: '' })
  }
  showStatuses()
  // Kept, so that it is still known without a connection. When it cannot be written, the next look
  // finds out again.
  if (revoked.length > 0) await vault.markRevoked(revoked).catch(() => {})
}

async function askToRevoke(facts: CredentialFacts, key: HolderKey, vault: Vault): Promise<void> {
  const values = { site: facts.siteId }
  if (await confirmed(fill(page.revokeTitle, values), fill(page.revokeWarning, values), page.revokeConfirm)) {
    await revokeAccess(facts, key, vault)
  }
}

async function revokeAccess(facts: CredentialFacts, key: HolderKey, vault: Vault): Promise<void> {
  const { document: credential, ppid, siteId: site } = facts
  tell(problem)
  tell(notice, { title: page.revoking, next: '' }, { kind: 'good', focus: true })
  const body = { ppid, site_id: site, reason: 'revoked by the holder in the wallet' }
  const onSlow = () => tell(notice, { title: common.stillWorking, next: '' }, { kind: 'good' })
  const answered = await call({ path: '/api/wallet/revoke-user', body, key, credential, onSlow }, texts)
  // A call whose answer was lost may have revoked it already.
  if ('refusal' in answered && answered.code !== 'credential_revoked') {
    tell(notice)
    const action = { words: common.again, run: () => void revokeAccess(facts, key, vault) }
    return tell(problem, answered.refusal, {
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
  tell(notice, { title: fill(page.revoked, { site }), next: '' }, { kind: 'good', focus: true })
  showStatuses()
  await vault.markRevoked(ids).catch(() => {})
}

async function removeCredential({ id, siteId: site }: CredentialFacts, vault: Vault): Promise<void> {
  if (!(await confirmed(page.removeTitle, fill(page.removeWarning, { site }), page.removeConfirm))) return
  tell(problem)
  try {
    await vault.remove(id)
  } catch {
    return tell(problem, { title: page.notRemoved, next: page.notReadNext }, { focus: true })
  }
  tell(notice, { title: fill(page.removed, { site }), next: '' }, { kind: 'good', focus: true })
  await showAll(vault)
}

async function start(): Promise<void> {
  // Keys sign for the name under which the service knows itself, and this browser keeps them under
  // that name.
  if (location.origin !== origin) return location.replace(origin + location.pathname + location.hash)
  const vault = await openVault().catch(() => undefined)
  part('slow', HTMLParagraphElement).hidden = true
  if (vault === undefined) return tell(problem, { title: common.noStorage, next: common.noStorageNext })
  // Another tab may have changed what is kept.
  addEventListener('focus', () => showAll(vault))
  setInterval(() => {
    if (!document.hidden) void look(vault)
  }, LOOK_MS)
  await Promise.all([showAll(vault), handleOffers(vault, texts, () => showAll(vault))])
  document.documentElement.dataset.ready = 'yes'
}

await start()
