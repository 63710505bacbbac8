import { call, type Rejected } from './call.ts'
import { type CredentialFacts, findMisfit, type Misfit, parseCredential, parseFacts } from './credential.ts'
import { type Brand, type CredentialStore, type Kept, openCredentialStore } from './credential-store.ts'
import { describeScopes, describeTriesLeft, fill, fillPlural } from './describe.ts'
import {
  createElement,
  fillSite,
  formatDay,
  formatTime,
  type Message,
  readPageData,
  readPageMessages,
  requireElement,
  showMessage,
} from './page.ts'
import { type CredentialStatus, type EarlyStatuses, loadStatuses } from './statuses.ts'
import { handleCopy, showSupport } from './support.ts'

interface Data {
  readonly state: string
  readonly site_id: string
  readonly site: string
  readonly requested_scope: readonly string[] | null
  readonly expires_in: number
  readonly brand: Brand
}

/** From the script that the page carries, if it has run. It never rejects. */
const { EARLY_STATUSES } = globalThis as { EARLY_STATUSES?: Promise<EarlyStatuses | undefined> }

const data = readPageData<Data>()
const messages = readPageMessages<'signIn'>()
const { site } = data
const { page, common, lang } = messages
const wanted = { siteId: data.site_id, scope: data.requested_scope }

const form = requireElement('present', HTMLFormElement)
const title = requireElement('title', HTMLHeadingElement)
const lead = requireElement('lead', HTMLParagraphElement)
const glyph = requireElement('glyph', HTMLDivElement)
const problem = requireElement('problem', HTMLDivElement)
const keptPlace = requireElement('kept', HTMLDivElement)
const unusable = requireElement('unusable', HTMLDetailsElement)
const another = requireElement('another', HTMLDetailsElement)
const file = requireElement('file', HTMLInputElement)
const pasted = requireElement('credential', HTMLTextAreaElement)
const said = requireElement('said', HTMLParagraphElement)
const actions = requireElement('actions', HTMLDivElement)
const submit = requireElement('submit', HTMLButtonElement)
const cancel = requireElement('cancel', HTMLAnchorElement)
const progress = requireElement('progress', HTMLParagraphElement)
const timeLeft = requireElement('time-left', HTMLSpanElement)

/**
 * How long the list waits for the service to say what is revoked. Without an answer, the service
 * says so when a credential is presented.
 */
const STATUS_WAIT_MS = 3000
const SOON_MS = 86_400_000
const WARNING_MS = 120_000
const endsAtMs = Date.now() + data.expires_in * 1000

let store: CredentialStore | undefined
let kept: readonly Kept[] = []
let statuses: ReadonlyMap<string, CredentialStatus> | undefined
let isBusy = false
let isOver = false
let isWarned = false

const findKey = (did: string | undefined) => kept.find(({ key }) => key.did === did)?.key
const isRevoked = (id: string) => kept.some((one) => one.id === id && one.isRevoked)
const misfit = (facts: CredentialFacts): Misfit | undefined =>
  isRevoked(facts.id)
    ? { kind: 'revoked' }
    : findMisfit(facts, wanted, Date.now(), (did) => findKey(did) !== undefined)

function describeMisfit(fault: Misfit): Message {
  const time = 'atMs' in fault ? formatTime(fault.atMs, lang) : ''
  const missing = 'missing' in fault ? describeScopes(fault.missing, messages).join(', ') : ''
  const other = 'other' in fault ? fault.other : ''
  const values = { site, time, missing, other }
  return { title: fill(page[fault.kind], values), next: fill(page[`${fault.kind}Next`], values) }
}

function createPill(status: 'active' | 'soon' | 'revoked' | 'expired' | 'checking' | 'unreachable') {
  return createElement('span', `pill ${status}`, common[status])
}

function createChoice(facts: CredentialFacts, i: number): HTMLLabelElement {
  const input = createElement('input', '')
  Object.assign(input, { type: 'radio', name: 'kept', value: facts.id })
  const loaded = statuses?.get(facts.id)
  const isSoon = facts.validUntilMs - Date.now() < SOON_MS
  const status =
    statuses === undefined ? 'checking' : loaded === undefined ? 'unreachable' : isSoon ? 'soon' : 'active'
  const name = createElement('span', '', describeScopes(facts.scope, messages).join(', '))
  const until = createElement('small', '', fill(common.until, { time: formatDay(facts.validUntilMs, lang) }))
  name.id = `kept-${i}`
  until.id = `kept-${i}-more`
  input.setAttribute('aria-labelledby', name.id)
  input.setAttribute('aria-describedby', until.id)
  return createElement(
    'label',
    'choice',
    input,
    createElement('span', '', createElement('span', 'choice-top', name, createPill(status)), until),
  )
}

/** What cannot be used, with the reason. */
function createReason(facts: CredentialFacts, fault: Misfit): HTMLLIElement {
  const { title: what, next } = describeMisfit(fault)
  const name = createElement('span', '', describeScopes(facts.scope, messages).join(', '))
  const pill = fault.kind === 'revoked' || fault.kind === 'expired' ? [createPill(fault.kind)] : []
  return createElement('li', '', createElement('span', 'choice-top', name, ...pill), `${what} ${next}`)
}

/** What this browser keeps for the site: to be chosen, or with the reason why it cannot be. */
function showKept(): void {
  const here = kept.flatMap(({ document: held }) => {
    const facts = parseFacts(held)
    return facts?.siteId === data.site_id ? [{ facts, fault: misfit(facts) }] : []
  })
  const usable = here.filter(({ fault }) => fault === undefined)
  const others = here.flatMap(({ facts, fault }) => (fault === undefined ? [] : [{ facts, fault }]))
  const before = keptPlace.querySelector<HTMLInputElement>('input:checked')?.value
  const hadFocus = keptPlace.contains(document.activeElement)
  keptPlace.replaceChildren(...usable.map(({ facts }, i) => createChoice(facts, i)))
  const inputs = [...keptPlace.querySelectorAll('input')]
  const same = inputs.find(({ value }) => value === before)
  // Not while the person is pasting one, or reads why the last one was rejected.
  const isFree = pasted.value === '' && problem.childElementCount === 0
  const chosen = same ?? (isFree ? inputs[0] : undefined)
  if (chosen !== undefined) chosen.checked = true
  if (hadFocus) (chosen ?? title).focus()

  unusable.hidden = others.length === 0
  unusable.querySelector('summary')?.replaceChildren(fillPlural(page.others, others.length, lang))
  unusable
    .querySelector('ul')
    ?.replaceChildren(...others.map(({ facts, fault }) => createReason(facts, fault)))
  if (usable.length === 0) unusable.open = true
  const [heading, text] =
    usable.length > 0
      ? [page.title, '']
      : others.length > 0
        ? [page.unusable, page.unusableNext]
        : [page.none, page.noneNext]
  title.replaceChildren(...fillSite(heading, site))
  lead.replaceChildren(...fillSite(text, site))
  lead.hidden = text === ''
  glyph.hidden = usable.length > 0
  glyph.className = others.length > 0 ? 'glyph bad' : 'glyph'
  arrange()
  const isNew = document.activeElement === null || document.activeElement === document.body
  if (usable.length === 1 && isNew && !submit.disabled) submit.focus()
}

/** With nothing to send, the main button leads back to the site. */
function arrange(): void {
  const canSend = another.open || keptPlace.querySelector('input') !== null
  submit.hidden = !canSend
  cancel.className = canSend ? 'btn block quiet' : 'btn block primary'
  cancel.replaceChildren(...(canSend ? [page.cancel] : fillSite(common.backTo, site)))
  if (another.open) another.after(actions, progress)
}

/** Marks what is known to be revoked, here and in the store, where it stays. */
async function markRevoked(ids: readonly string[]): Promise<void> {
  kept = kept.map((one) => (ids.includes(one.id) ? { ...one, isRevoked: true } : one))
  await store?.markRevoked(ids).catch(() => {})
}

/**
 * Asks the service which of the site's credentials are revoked, so that none of them is offered.
 */
async function refreshStatuses(): Promise<void> {
  const ids = kept
    .filter((one) => parseFacts(one.document)?.siteId === data.site_id && !one.isRevoked)
    .map(({ id }) => id)
  if (ids.length === 0) return
  const loaded = await loadStatuses(ids, STATUS_WAIT_MS, await EARLY_STATUSES)
  statuses = loaded
  await markRevoked(ids.filter((id) => loaded.get(id) === 'revoked'))
  if (!isBusy && !isOver) showKept()
}

function findChosenKept(): CredentialFacts | undefined {
  const id = form.querySelector<HTMLInputElement>('input[name=kept]:checked')?.value
  const found = kept.find((one) => one.id === id)
  return found && parseFacts(found.document)
}

/** The credential that was chosen, or the reason why it cannot be sent. */
function findChosen(): CredentialFacts | Message {
  const text = pasted.value.trim()
  const facts = text === '' ? findChosenKept() : parseCredential(text)
  if (facts === undefined) {
    return text === ''
      ? { title: page.nothingChosen, next: page.nothingChosenNext }
      : { title: page.unreadable, next: page.unreadableNext }
  }
  const fault = misfit(facts)
  return fault === undefined ? facts : describeMisfit(fault)
}

function checkPasted(): void {
  const found = pasted.value.trim() === '' ? undefined : findChosen()
  said.className = found === undefined ? '' : 'title' in found ? 'bad' : 'good'
  said.textContent = found === undefined ? '' : 'title' in found ? `${found.title} ${found.next}` : page.fits
}

function setBusy(busy: boolean, label = page.submit): void {
  isBusy = busy
  submit.setAttribute('aria-disabled', String(busy))
  submit.setAttribute('aria-busy', String(busy))
  submit.textContent = busy ? page.busy : label
  progress.textContent = ''
}

function showRejection(rejection: Message, more = '', label = page.submit): void {
  setBusy(false, label)
  showMessage(problem, { title: rejection.title, next: `${rejection.next} ${more}` }, { focus: true })
}

/** Nothing can be presented any more: the card says so, and the only way is back to the site. */
function endSignIn(message: Message, rejected?: Pick<Rejected, 'code' | 'requestId'>): void {
  isOver = true
  showMessage(problem)
  form.hidden = true
  requireElement('sees', HTMLDetailsElement).hidden = true
  requireElement('over', HTMLDivElement).hidden = false
  glyph.hidden = false
  glyph.className = 'glyph wait'
  title.textContent = message.title
  lead.textContent = message.next
  lead.hidden = false
  timeLeft.textContent = ''
  showSupport([
    [common.code, rejected?.code ?? 'state_invalid'],
    ...(rejected?.requestId === undefined ? [] : [[common.requestId, rejected.requestId] as const]),
    [common.time, new Date().toISOString()],
  ])
  title.focus()
}

async function handleRejection(rejected: Rejected, { id }: CredentialFacts): Promise<void> {
  const { rejection, code, triesLeft } = rejected
  if (triesLeft === 0) {
    const heading = code === 'state_invalid' ? page.triesUsed : `${rejection.title}. ${page.triesUsed}`
    return endSignIn({ title: heading, next: page.triesUsedNext }, rejected)
  }
  if (code === 'state_invalid') return endSignIn(rejection, rejected)
  // Without an answer the same can be tried again.
  if (code === undefined) return showRejection(rejection, '', common.again)
  showRejection(rejection, describeTriesLeft(triesLeft, page, site, lang))
  if (code === 'credential_revoked' && kept.some((one) => one.id === id)) {
    await markRevoked([id])
    showKept()
  }
}

/** Counts down, warns two minutes before the end, and ends the page with the sign-in. */
function showTimeLeft(): void {
  if (isOver) return
  const leftMs = endsAtMs - Date.now()
  if (leftMs <= 0) {
    // The answer decides while one is awaited.
    if (!isBusy) endSignIn({ title: page.over, next: fill(page.overNext, { site }) })
    return
  }
  const seconds = Math.ceil(leftMs / 1000)
  const two = new Intl.NumberFormat(lang, { minimumIntegerDigits: 2 })
  const time = `${new Intl.NumberFormat(lang).format(Math.floor(seconds / 60))}:${two.format(seconds % 60)}`
  timeLeft.textContent = fill(page.timeLeft, { time })
  if (leftMs > WARNING_MS || isWarned || isBusy) return
  isWarned = true
  progress.textContent = page.nearlyOver
}

form.addEventListener('submit', async (event) => {
  event.preventDefault()
  if (isBusy || isOver) return
  showMessage(problem)
  const found = findChosen()
  if ('title' in found) return showRejection(found)
  setBusy(true)
  const body = { state: data.state, credential: found.document }
  const onSlow = () => {
    progress.textContent = common.stillWorking
  }
  const answered = await call(
    { path: '/auth/present', body, key: findKey(found.holderKey), onSlow },
    messages,
  )
  if ('rejection' in answered) return handleRejection(answered, found)
  const next = new URL(String(answered.answer.callback_url))
  if (next.origin !== location.origin)
    return showRejection({ title: common.noAnswer, next: common.noAnswerNext })
  await store?.markUsed(found.id, Date.now(), data.brand).catch(() => {})
  // In place of this page: the back button then leads to the site, and not to a sign-in that is
  // over.
  location.replace(next)
})

file.addEventListener('change', async () => {
  const [first] = file.files ?? []
  if (first === undefined) return
  pasted.value = await first.text()
  pasted.dispatchEvent(new Event('input'))
})
pasted.addEventListener('input', () => {
  for (const input of form.querySelectorAll<HTMLInputElement>('input[name=kept]:checked'))
    input.checked = false
  checkPasted()
})
keptPlace.addEventListener('change', () => {
  pasted.value = ''
  file.value = ''
  checkPasted()
})
another.addEventListener('toggle', arrange)
// A page from the back/forward cache may show outdated data.
addEventListener('pageshow', ({ persisted }) => {
  if (persisted) location.reload()
})

try {
  store = await openCredentialStore()
  kept = await store.all()
} catch {
  // A browser that keeps nothing can still sign in with a file or a text.
}
submit.disabled = false
another.hidden = false
requireElement('slow', HTMLParagraphElement).hidden = true
showKept()
checkPasted()
handleCopy()
showTimeLeft()
setInterval(showTimeLeft, 1000)
await refreshStatuses()
document.documentElement.dataset.ready = 'yes'
