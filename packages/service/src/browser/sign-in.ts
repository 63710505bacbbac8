import { call, type Refused } from './call.ts'
import { type CredentialFacts, findMisfit, type Misfit, parseCredential, parseFacts } from './credential.ts'
import { make, type PageTexts, pageData, part, tell, timeWords, type Words } from './page.ts'
import { loadStatuses } from './statuses.ts'
import { type Kept, openVault, type Vault } from './vault.ts'
import { fill, scopeWords, triesWords } from './words.ts'

interface Data {
  readonly state: string
  readonly site_id: string
  readonly site: string
  readonly requested_scope: readonly string[] | null
  readonly texts: PageTexts<'signIn'>
}

const data = pageData<Data>()
const { site, texts } = data
const { page } = texts
const wanted = { siteId: data.site_id, scope: data.requested_scope }

const form = part('present', HTMLFormElement)
const problem = part('problem', HTMLDivElement)
const keptPlace = part('kept', HTMLDivElement)
const another = part('another', HTMLDetailsElement)
const file = part('file', HTMLInputElement)
const pasted = part('credential', HTMLTextAreaElement)
const said = part('said', HTMLParagraphElement)
const submit = part('submit', HTMLButtonElement)
const progress = part('progress', HTMLParagraphElement)

/**
 * How long the list waits for the service to say what is revoked. Without an answer, the service
 * says so when a credential is presented.
 */
const STATUS_WAIT_MS = 3000

let vault: Vault | undefined
let kept: readonly Kept[] = []
let isBusy = false

const findKey = (did: string | undefined) => kept.find(({ key }) => key.did === did)?.key
const isRevoked = (id: string) => kept.some((one) => one.id === id && one.isRevoked)
const misfit = (facts: CredentialFacts): Misfit | undefined =>
  isRevoked(facts.id)
    ? { kind: 'revoked' }
    : findMisfit(facts, wanted, Date.now(), (did) => findKey(did) !== undefined)

function words(fault: Misfit): Words {
  const time = 'atMs' in fault ? timeWords(fault.atMs, texts.lang) : ''
  const missing =
    'missing' in fault ? fault.missing.map((scope) => scopeWords(scope, texts.verbs)).join(', ') : ''
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
    // Those that will do first.
    .sort((a, b) => Number(a.fault !== undefined) - Number(b.fault !== undefined))
  const choices = here.map(({ facts, keptAtMs, fault }, i) => {
    const input = make('input', '')
    Object.assign(input, {
      type: 'radio',
      name: 'kept',
      value: facts.id,
      id: `kept-${i}`,
      disabled: fault !== undefined,
    })
    input.setAttribute('aria-describedby', `kept-${i}-more`)
    const label = make('label', '', facts.scope.map((scope) => scopeWords(scope, texts.verbs)).join(', '))
    label.htmlFor = input.id
    const ends = `${fill(texts.common.until, { time: timeWords(facts.validUntilMs, texts.lang) })}. ${fill(texts.common.since, { time: timeWords(keptAtMs, texts.lang) })}.`
    const more = make(
      'p',
      fault === undefined ? '' : 'bad',
      fault === undefined ? ends : `${words(fault).title} ${words(fault).next}`,
    )
    more.id = `kept-${i}-more`
    return make('div', 'choice', input, label, more)
  })
  const nothing = make(
    'div',
    'notice plain',
    make('strong', '', fill(page.nothingHere, { site })),
    make('p', '', fill(page.nothingHereNext, { site })),
  )
  keptPlace.replaceChildren(...(choices.length > 0 ? choices : [nothing]))
  const first = keptPlace.querySelector<HTMLInputElement>('input:not(:disabled)')
  another.open = first === null || pasted.value !== ''
  // Not while the person is pasting one, or reads why the last one was refused.
  if (first !== null && pasted.value === '' && problem.childElementCount === 0) first.checked = true
}

/** Marks what is known to be revoked, here and in the vault, where it stays. */
async function noteRevoked(ids: readonly string[]): Promise<void> {
  kept = kept.map((one) => (ids.includes(one.id) ? { ...one, isRevoked: true } : one))
  await vault?.markRevoked(ids).catch(() => {})
}

/**
 * Asks the service which of the site's credentials are revoked, so that none of them is offered.
 */
async function askForRevoked(): Promise<void> {
  const ids = kept
    .filter((one) => parseFacts(one.document)?.siteId === data.site_id && !one.isRevoked)
    .map(({ id }) => id)
  const statuses = await loadStatuses(ids, STATUS_WAIT_MS)
  await noteRevoked(ids.filter((id) => statuses.get(id) === 'revoked'))
}

function chosenKept(): CredentialFacts | undefined {
  const id = form.querySelector<HTMLInputElement>('input[name=kept]:checked')?.value
  const found = kept.find((one) => one.id === id)
  return found && parseFacts(found.document)
}

/** The credential that was chosen, or words why it cannot be sent. */
function chosen(): CredentialFacts | Words {
  const text = pasted.value.trim()
  const facts = text === '' ? chosenKept() : parseCredential(text)
  if (facts === undefined) {
    return text === ''
      ? { title: page.nothingChosen, next: page.nothingChosenNext }
      : { title: page.unreadable, next: page.unreadableNext }
  }
  const fault = misfit(facts)
  return fault === undefined ? facts : words(fault)
}

function sayOfPasted(): void {
  const found = pasted.value.trim() === '' ? undefined : chosen()
  said.className = found === undefined ? '' : 'title' in found ? 'bad' : 'good'
  said.textContent = found === undefined ? '' : 'title' in found ? `${found.title} ${found.next}` : page.fits
}

function setBusy(busy: boolean, label = page.submit): void {
  isBusy = busy
  submit.setAttribute('aria-disabled', String(busy))
  submit.textContent = busy ? page.busy : label
  progress.textContent = ''
}

function refuse(refusal: Words, more = '', label = page.submit): void {
  setBusy(false, label)
  tell(problem, { title: refusal.title, next: `${refusal.next} ${more}` }, { focus: true })
}

/** Nothing can be presented any more: the only way is back to the site. */
function endSignIn(refusal: Words): void {
  form.hidden = true
  part('over', HTMLDivElement).hidden = false
  tell(problem, refusal, { focus: true })
}

async function refused({ refusal, code, triesLeft }: Refused, { id }: CredentialFacts): Promise<void> {
  if (triesLeft === 0) {
    const title = code === 'state_invalid' ? page.triesUsed : `${refusal.title}. ${page.triesUsed}`
    return endSignIn({ title, next: page.triesUsedNext })
  }
  if (code === 'state_invalid') return endSignIn(refusal)
  // Without an answer the same can be tried again.
  if (code === undefined) return refuse(refusal, '', texts.common.again)
  refuse(refusal, triesWords(triesLeft, page, site))
  if (code === 'credential_revoked' && kept.some((one) => one.id === id)) {
    await noteRevoked([id])
    showKept()
  }
}

form.addEventListener('submit', async (event) => {
  event.preventDefault()
  if (isBusy) return
  tell(problem)
  const found = chosen()
  if ('title' in found) return refuse(found)
  setBusy(true)
  const body = { state: data.state, credential: found.document }
  const onSlow = () => {
    progress.textContent = texts.common.stillWorking
  }
  const answered = await call({ path: '/auth/present', body, key: findKey(found.holderKey), onSlow }, texts)
  if ('refusal' in answered) return refused(answered, found)
  const next = new URL(String(answered.answer.callback_url))
  // In place of this page: the back button then leads to the site, and not to a sign-in that is
  // over.
  if (next.origin !== location.origin)
    return refuse({ title: texts.common.noAnswer, next: texts.common.noAnswerNext })
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
  sayOfPasted()
})
keptPlace.addEventListener('change', () => {
  pasted.value = ''
  file.value = ''
  sayOfPasted()
})
// A page that comes out of the browser's memory is as old as it looks.
addEventListener('pageshow', ({ persisted }) => {
  if (persisted) location.reload()
})

try {
  vault = await openVault()
  kept = await vault.all()
  await askForRevoked()
} catch {
  // A browser that keeps nothing can still sign in with a file or a text.
}
showKept()
sayOfPasted()
another.hidden = false
part('slow', HTMLParagraphElement).hidden = true
submit.disabled = false
document.documentElement.dataset.ready = 'yes'
