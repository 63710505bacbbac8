import { call, type Rejected } from './call.ts'
import { type CredentialFacts, findMisfit, type Misfit, parseCredential, parseFacts } from './credential.ts'
import { type CredentialStore, type Kept, openCredentialStore } from './credential-store.ts'
import { describeScope, describeTriesLeft, fill } from './describe.ts'
import {
  createElement,
  formatTime,
  type Message,
  type PageMessages,
  readPageData,
  requireElement,
  showMessage,
} from './page.ts'
import { loadStatuses } from './statuses.ts'

interface Data {
  readonly state: string
  readonly site_id: string
  readonly site: string
  readonly requested_scope: readonly string[] | null
  readonly messages: PageMessages<'signIn'>
}

const data = readPageData<Data>()
const { site, messages } = data
const { page } = messages
const wanted = { siteId: data.site_id, scope: data.requested_scope }

const form = requireElement('present', HTMLFormElement)
const problem = requireElement('problem', HTMLDivElement)
const keptPlace = requireElement('kept', HTMLDivElement)
const another = requireElement('another', HTMLDetailsElement)
const file = requireElement('file', HTMLInputElement)
const pasted = requireElement('credential', HTMLTextAreaElement)
const said = requireElement('said', HTMLParagraphElement)
const submit = requireElement('submit', HTMLButtonElement)
const progress = requireElement('progress', HTMLParagraphElement)

/**
 * How long the list waits for the service to say what is revoked. Without an answer, the service
 * says so when a credential is presented.
 */
const STATUS_WAIT_MS = 3000

let store: CredentialStore | undefined
let kept: readonly Kept[] = []
let isBusy = false

const findKey = (did: string | undefined) => kept.find(({ key }) => key.did === did)?.key
const isRevoked = (id: string) => kept.some((one) => one.id === id && one.isRevoked)
const misfit = (facts: CredentialFacts): Misfit | undefined =>
  isRevoked(facts.id)
    ? { kind: 'revoked' }
    : findMisfit(facts, wanted, Date.now(), (did) => findKey(did) !== undefined)

function describeMisfit(fault: Misfit): Message {
  const time = 'atMs' in fault ? formatTime(fault.atMs, messages.lang) : ''
  const missing =
    'missing' in fault ? fault.missing.map((scope) => describeScope(scope, messages.verbs)).join(', ') : ''
  const other = 'other' in fault ? fault.other : ''
  const values = { site, time, missing, other }
  return { title: fill(page[fault.kind], values), next: fill(page[`${fault.kind}Next`], values) }
}

/** What this browser keeps for the site, each to be chosen, or with the reason why it cannot be. */
function showKept(): void {
  const here = kept
    .flatMap(({ document: held, keptAtMs }) => {
      const facts = parseFacts(held)
      return facts?.siteId === data.site_id ? [{ facts, keptAtMs, fault: misfit(facts) }] : []
    })
    // Usable credentials first.
    .sort((a, b) => Number(a.fault !== undefined) - Number(b.fault !== undefined))
  const choices = here.map(({ facts, keptAtMs, fault }, i) => {
    const input = createElement('input', '')
    Object.assign(input, {
      type: 'radio',
      name: 'kept',
      value: facts.id,
      id: `kept-${i}`,
      disabled: fault !== undefined,
    })
    input.setAttribute('aria-describedby', `kept-${i}-more`)
    const label = createElement(
      'label',
      '',
      facts.scope.map((scope) => describeScope(scope, messages.verbs)).join(', '),
    )
    label.htmlFor = input.id
    const ends = `${fill(messages.common.until, { time: formatTime(facts.validUntilMs, messages.lang) })}. ${fill(messages.common.since, { time: formatTime(keptAtMs, messages.lang) })}.`
    const more = createElement(
      'p',
      fault === undefined ? '' : 'bad',
      fault === undefined ? ends : `${describeMisfit(fault).title} ${describeMisfit(fault).next}`,
    )
    more.id = `kept-${i}-more`
    return createElement('div', 'choice', input, label, more)
  })
  const nothing = createElement(
    'div',
    'notice plain',
    createElement('strong', '', fill(page.nothingHere, { site })),
    createElement('p', '', fill(page.nothingHereNext, { site })),
  )
  keptPlace.replaceChildren(...(choices.length > 0 ? choices : [nothing]))
  const first = keptPlace.querySelector<HTMLInputElement>('input:not(:disabled)')
  another.open = first === null || pasted.value !== ''
  // Not while the person is pasting one, or reads why the last one was rejected.
  if (first !== null && pasted.value === '' && problem.childElementCount === 0) first.checked = true
}

/** Marks what is known to be revoked, here and in the store, where it stays. */
async function markRevoked(ids: readonly string[]): Promise<void> {
  kept = kept.map((one) => (ids.includes(one.id) ? { ...one, isRevoked: true } : one))
  await store?.markRevoked(ids).catch(() => {})
}

/**
 * Asks the service which of the site's credentials are revoked, so that none of them is offered.
 */
async function refreshRevoked(): Promise<void> {
  const ids = kept
    .filter((one) => parseFacts(one.document)?.siteId === data.site_id && !one.isRevoked)
    .map(({ id }) => id)
  const statuses = await loadStatuses(ids, STATUS_WAIT_MS)
  await markRevoked(ids.filter((id) => statuses.get(id) === 'revoked'))
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
  submit.textContent = busy ? page.busy : label
  progress.textContent = ''
}

function showRejection(rejection: Message, more = '', label = page.submit): void {
  setBusy(false, label)
  showMessage(problem, { title: rejection.title, next: `${rejection.next} ${more}` }, { focus: true })
}

/** Nothing can be presented any more: the only way is back to the site. */
function endSignIn(rejection: Message): void {
  form.hidden = true
  requireElement('over', HTMLDivElement).hidden = false
  showMessage(problem, rejection, { focus: true })
}

async function handleRejection(
  { rejection, code, triesLeft }: Rejected,
  { id }: CredentialFacts,
): Promise<void> {
  if (triesLeft === 0) {
    const title = code === 'state_invalid' ? page.triesUsed : `${rejection.title}. ${page.triesUsed}`
    return endSignIn({ title, next: page.triesUsedNext })
  }
  if (code === 'state_invalid') return endSignIn(rejection)
  // Without an answer the same can be tried again.
  if (code === undefined) return showRejection(rejection, '', messages.common.again)
  showRejection(rejection, describeTriesLeft(triesLeft, page, site))
  if (code === 'credential_revoked' && kept.some((one) => one.id === id)) {
    await markRevoked([id])
    showKept()
  }
}

form.addEventListener('submit', async (event) => {
  event.preventDefault()
  if (isBusy) return
  showMessage(problem)
  const found = findChosen()
  if ('title' in found) return showRejection(found)
  setBusy(true)
  const body = { state: data.state, credential: found.document }
  const onSlow = () => {
    progress.textContent = messages.common.stillWorking
  }
  const answered = await call(
    { path: '/auth/present', body, key: findKey(found.holderKey), onSlow },
    messages,
  )
  if ('rejection' in answered) return handleRejection(answered, found)
  const next = new URL(String(answered.answer.callback_url))
  // In place of this page: the back button then leads to the site, and not to a sign-in that is
  // over.
  if (next.origin !== location.origin)
    return showRejection({ title: messages.common.noAnswer, next: messages.common.noAnswerNext })
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
// A page from the back/forward cache may show outdated data.
addEventListener('pageshow', ({ persisted }) => {
  if (persisted) location.reload()
})

try {
  store = await openCredentialStore()
  kept = await store.all()
  await refreshRevoked()
} catch {
  // A browser that keeps nothing can still sign in with a file or a text.
}
showKept()
checkPasted()
another.hidden = false
requireElement('slow', HTMLParagraphElement).hidden = true
submit.disabled = false
document.documentElement.dataset.ready = 'yes'
