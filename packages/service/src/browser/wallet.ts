import { call } from './call.ts'
import { type CredentialFacts, factsOf } from './credential.ts'
import { createHolderKey, type HolderKey } from './holder-key.ts'
import { make, type PageTexts, pageData, part, tell, timeWords } from './page.ts'
import { type Kept, openVault, type Vault } from './vault.ts'
import { fill, scopeWords } from './words.ts'

interface Data {
  readonly origin: string
  readonly texts: PageTexts<'wallet'>
}

type Status = 'checking' | 'active' | 'revoked' | 'expired' | 'unknown' | 'unreachable'

const LOOK_MS = 4000
const IDS_MAX = 100

const { origin, texts } = pageData<Data>()
const { page, common } = texts
const notice = part('notice', HTMLDivElement)
const problem = part('problem', HTMLDivElement)
const offerPlace = part('offer', HTMLElement)
const accept = part('accept', HTMLButtonElement)
const list = part('credentials', HTMLUListElement)
const dialog = part('confirm', HTMLDialogElement)

const statuses = new Map<string, Status>()
let isAccepting = false

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
  const scopes = make('ul', 'scopes', ...scope.map((one) => make('li', '', scopeWords(one, texts.verbs), ' ', make('code', '', one))))
  const ends = fill(Date.now() < validUntilMs ? common.until : common.ended, { time: timeWords(validUntilMs, texts.lang) })
  const named = make('dl', '', make('dt', '', page.id), make('dd', '', make('code', '', id)))
  const revoke = make('button', 'danger', page.revoke)
  const remove = make('button', '', page.remove)
  for (const button of [revoke, remove]) {
    button.type = 'button'
    button.setAttribute('aria-label', `${button.textContent}: ${site}`)
  }
  revoke.addEventListener('click', () => revokeAccess(facts, key))
  remove.addEventListener('click', () => removeCredential(facts, vault))
  const title = make('h3', '', make('bdi', '', site))
  const item = make(
    'li',
    'card',
    make('div', 'credential-head', title, status),
    make('p', 'quiet', `${ends}. ${fill(common.since, { time: timeWords(keptAtMs, texts.lang) })}.`),
    make('h4', 'quiet', page.may),
    scopes,
    make('p', 'quiet', fill(page.use, { site })),
    named,
    make('div', 'actions', revoke, remove),
  )
  item.dataset.credential = id
  return item
}

async function showAll(vault: Vault): Promise<void> {
  const kept = await vault.all()
  // What is there already stays: somebody may be about to press a button of it.
  if (kept.map(({ id }) => id).join() === shownIds().join()) return look()
  list.replaceChildren(
    ...kept.flatMap((one) => {
      const facts = factsOf(one.document)
      return facts === undefined ? [] : [card(facts, one, vault)]
    }),
  )
  showStatuses()
  await look()
}

function shownIds(): readonly string[] {
  return Array.from(list.querySelectorAll<HTMLElement>('[data-credential]'), ({ dataset }) => dataset.credential ?? '')
}

function showStatuses(): void {
  for (const place of list.querySelectorAll<HTMLElement>('[data-status-of]')) {
    const status = statuses.get(place.dataset.statusOf ?? '') ?? 'checking'
    place.className = `status ${status}`
    if (place.textContent !== STATUS_WORDS[status]) place.textContent = STATUS_WORDS[status]
    const revoke = place.closest('li')?.querySelector<HTMLButtonElement>('button.danger')
    if (revoke) revoke.hidden = status === 'revoked' || status === 'expired'
  }
}

/** Asks the service how each credential stands. */
async function look(): Promise<void> {
  part('empty', HTMLDivElement).hidden = list.childElementCount > 0
  const ids = shownIds()
  for (let at = 0; at < ids.length; at += IDS_MAX) {
    const some = ids.slice(at, at + IDS_MAX)
    const told = await statusesOf(some)
    for (const id of some) {
      const before = statuses.get(id)
      const now = told?.[id]?.status ?? 'unreachable'
      statuses.set(id, now)
      if (before === 'active' && now === 'revoked') {
        const site = list.querySelector(`[data-credential="${CSS.escape(id)}"] h3`)?.textContent ?? ''
        tell(notice, { title: fill(page.revoked, { site }), next: '' }, 'bad')
      }
    }
  }
  showStatuses()
}

async function statusesOf(ids: readonly string[]): Promise<Record<string, { status: Status } | undefined> | undefined> {
  try {
    const query = new URLSearchParams(ids.map((id) => ['credential_ids', id]))
    const response = await fetch(`/api/wallet/revocation-status?${query}`, { credentials: 'omit', cache: 'no-store' })
    return response.ok ? ((await response.json()) as { statuses: Record<string, { status: Status }> }).statuses : undefined
  } catch {
    return undefined
  }
}

async function revokeAccess({ document: credential, ppid, siteId: site, id }: CredentialFacts, key: HolderKey): Promise<void> {
  const values = { site }
  if (!(await confirmed(fill(page.revokeTitle, values), fill(page.revokeWarning, values), page.revokeConfirm))) return
  tell(problem)
  const body = { ppid, site_id: site, reason: 'revoked by the holder in the wallet' }
  const answered = await call({ path: '/api/wallet/revoke-user', body, key, credential }, texts)
  if ('refusal' in answered) return tell(problem, answered.refusal)
  statuses.set(id, 'revoked')
  tell(notice, { title: fill(page.revoked, values), next: '' }, 'good')
  showStatuses()
  await look()
}

async function removeCredential({ id, siteId: site }: CredentialFacts, vault: Vault): Promise<void> {
  if (!(await confirmed(page.removeTitle, fill(page.removeWarning, { site }), page.removeConfirm))) return
  await vault.remove(id)
  tell(notice, { title: fill(page.removed, { site }), next: '' }, 'good')
  await showAll(vault)
}

function offered(): string | undefined {
  return /^#offer=([A-Za-z0-9_-]{43})$/.exec(location.hash)?.[1]
}

function showOffer(): void {
  offerPlace.hidden = offered() === undefined
}

function endOffer(): void {
  // The code is used up or unwanted, and has no business in the history.
  history.replaceState(null, '', location.pathname)
  showOffer()
}

async function claim(vault: Vault): Promise<void> {
  const offer = offered()
  if (isAccepting || offer === undefined) return
  setAccepting(true)
  tell(problem)
  tell(notice)
  const key = await createHolderKey().catch(() => undefined)
  if (key === undefined) {
    tell(problem, { title: common.tooOld, next: common.tooOldNext })
    return setAccepting(false)
  }
  const answered = await call({ path: '/wallet/claim', body: { offer, holder_key: key.did }, key }, texts)
  setAccepting(false)
  if ('refusal' in answered) {
    if (answered.code !== undefined) endOffer()
    return tell(problem, answered.refusal)
  }
  const facts = factsOf(answered.answer.credential)
  if (facts === undefined) return tell(problem, { title: common.noAnswer, next: common.noAnswerNext })
  await vault.keep({ id: facts.id, document: facts.document, key, keptAtMs: Date.now() })
  // Asked for, not relied on: the browser may forget data that it has not promised to keep.
  await navigator.storage?.persist?.().catch(() => false)
  endOffer()
  await showAll(vault)
  tell(notice, { title: fill(page.accepted, { site: facts.siteId }), next: fill(page.use, { site: facts.siteId }) }, 'good')
}

function setAccepting(accepting: boolean): void {
  isAccepting = accepting
  accept.setAttribute('aria-disabled', String(accepting))
  accept.textContent = accepting ? page.accepting : page.accept
}

async function start(): Promise<void> {
  // Keys sign for the name under which the service knows itself, and this browser keeps them under that name.
  if (location.origin !== origin) return location.replace(origin + location.pathname + location.hash)
  const vault = await openVault().catch(() => undefined)
  if (vault === undefined) return tell(problem, { title: common.noStorage, next: common.noStorageNext })
  accept.addEventListener('click', () => claim(vault))
  part('later', HTMLButtonElement).addEventListener('click', endOffer)
  addEventListener('hashchange', showOffer)
  // Another tab may have changed what is kept.
  addEventListener('focus', () => showAll(vault))
  setInterval(() => {
    if (!document.hidden) void look()
  }, LOOK_MS)
  showOffer()
  await showAll(vault)
  document.documentElement.dataset.ready = 'yes'
}

await start()
