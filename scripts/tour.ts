import { randomBytes } from 'node:crypto'
import { styleText } from 'node:util'
import {
  checkEntry,
  createEntry,
  createMemoryNonces,
  credentialHeader,
  type Demand,
  delegateCredential,
  didKey,
  didKeyMethod,
  type Entry,
  type EntryBodies,
  type EntryKind,
  type Explanation,
  explain,
  formatTime,
  type Grant,
  generatePrivateKey,
  type HolderRequest,
  holderRequestFrom,
  issueCredential,
  type PrivateKey,
  parseCredentialId,
  parseScope,
  parseSiteId,
  type RevocationData,
  SiteView,
  signRequest,
  type Verdict,
  verify,
} from '@countersign/core'

/**
 * `npm start`: what the core does, step by step, in one process. Nothing is stored or sent, and no
 * key and no credential is printed.
 */

const HOUR_MS = 3_600_000
const ORDERS = 'https://shop.example/api/orders'
const nowMs = Math.floor(Date.now() / 1000) * 1000
const clocks = { wallMs: nowMs, monotonicMs: 0 }

/** Colours on a terminal only, and not where NO_COLOR asks for none. */
type Style = Parameters<typeof styleText>[0]
const paint = (style: Style, text: string) => styleText(style, text, { stream: process.stdout })
const newId = () => randomBytes(13).toString('hex')

let steps = 0
function step(title: string): void {
  console.log(`\n${paint('bold', `${String(++steps).padStart(2)}. ${title}`)}`)
}

function show(name: string, value: string, style: Style = 'dim'): void {
  console.log(`    ${paint(style, name.padEnd(13))}  ${value}`.trimEnd())
}

function showVerdict(verdict: Verdict): void {
  if (!verdict.ok) {
    show('Deny', `${verdict.code}: ${verdict.detail}`, ['red', 'bold'])
    return
  }
  const { subject, view } = verdict
  show('Allow', subject.scope.join(' '), ['green', 'bold'])
  show('user', subject.ppid)
  show('credential', subject.credentialId)
  show('expires', formatTime(subject.expiresAtMs))
  if (verdict.presented === 'credential') show('holder', verdict.holder)
  show('view', `up to entry ${view.seq} of the log, ${view.ageMs} ms old`)
}

function showExplanation({ checks, allowed }: Explanation): void {
  const colours = { passed: 'green', denied: 'red', skipped: 'yellow' } as const
  for (const { check, result, denial } of checks) {
    show(check, `${paint(colours[result], result.padEnd(9))}  ${denial?.code ?? ''}`)
  }
  show('altogether', allowed ? 'allowed' : 'denied')
}

/**
 * The parse functions answer undefined for what does not follow the grammar; all that is written
 * here does.
 */
function sure<Value>(value: Value | undefined): Value {
  if (value === undefined) throw new Error('this tour has a mistake in it')
  return value
}

/**
 * What the service will do with its store: seal an entry, append it, and let every view apply it.
 */
async function append<Kind extends EntryKind>(
  view: SiteView,
  kind: Kind,
  body: EntryBodies[Kind],
): Promise<void> {
  const head = view.head.epoch === '' ? { ...view.head, epoch: newId() } : view.head
  const entry = await createEntry({ siteId: view.siteId, kind, body, at: formatTime(nowMs) }, head)
  const applied = view.apply(sure(await checkEntry(entry as Entry)))
  show('log', `${entry.seq}  ${kind.padEnd(18)}  ${applied}`)
}

/**
 * A holder's request: the credential in its header, and a signature of it all by the holder key.
 */
async function signedRequest(header: string, key: PrivateKey): Promise<HolderRequest> {
  const proof = await signRequest(plainRequest(header), { key, nowMs })
  return plainRequest(header, { ...proof })
}

function plainRequest(header: string, fields: Record<string, string> = {}): HolderRequest {
  return holderRequestFrom('GET', ORDERS, new Headers({ 'x-service-credential': header, ...fields }), 'none')
}

console.log(
  'Countersign, a tour of the core. All of it happens in this process; the keys are forgotten when it ends.',
)

step('An issuer and an agent make keys')
const issuerKey = await generatePrivateKey('Ed25519')
const agentKey = await generatePrivateKey('P-256')
const issuer = didKey(issuerKey.publicKey)
show('issuer', `Ed25519  ${issuer}`)
show('agent', `P-256    ${didKey(agentKey.publicKey)}`)

step('The site shop.example records which issuer it trusts')
const siteId = sure(parseSiteId('shop.example'))
const view = new SiteView({ siteId, entriesAreProven: true })
await append(view, 'site.changed', {
  bearer: 'off',
  holder_proof: 'optional',
  delegation: 'on',
  credential_ttl_seconds_max: null,
})
const { multikey } = issuerKey.publicKey
const keys = [{ id: multikey, key: multikey, status: 'active' }] as const
await append(view, 'issuer.trusted', { issuer, keys, scope: null, credential_ttl_seconds_max: null })
view.confirmHead({ siteId, ...view.head, asOfMs: nowMs, maxAgeSeconds: 60 }, clocks)

const nonces = createMemoryNonces({ startedAtMs: -Infinity })
const demand: Demand = { scope: [sure(parseScope('orders:read'))], nowMs, nonces }
const data = (): RevocationData => ({ site: view, ageMs: view.ageMs(clocks), ageMsMax: 30_000 })
const issue = (changes: Partial<Grant> = {}) =>
  issueCredential(
    {
      credentialId: `cred_${newId()}`,
      ppid: `did:service:ppid_${newId()}`,
      siteId,
      scope: ['orders:read', 'orders:write'],
      validFromMs: nowMs - HOUR_MS,
      validUntilMs: nowMs + HOUR_MS,
      ...changes,
    },
    {
      issuer,
      verificationMethod: didKeyMethod(issuerKey.publicKey),
      key: issuerKey,
      createdMs: nowMs - HOUR_MS,
    },
  )

step('The issuer signs a credential for a user')
const credentialId = sure(parseCredentialId(`cred_${newId()}`))
const header = credentialHeader(await issue({ credentialId }))
show('credential', credentialId)
show('scope', 'orders:read orders:write')
show('header', `X-Service-Credential, ${header.length} characters`)

step('The site verifies it')
showVerdict(await verify({ header }, demand, data()))

step('A credential for another site')
showVerdict(
  await verify({ header: credentialHeader(await issue({ siteId: 'bank.example' })) }, demand, data()),
)

step('A credential that has expired, at the very millisecond of its end')
showVerdict(await verify({ header: credentialHeader(await issue({ validUntilMs: nowMs })) }, demand, data()))

step('A credential bound to the key of the agent, copied by a thief')
const bound = await issue({ holderKey: didKey(agentKey.publicKey), delegable: true })
const boundHeader = credentialHeader(bound)
showVerdict(await verify({ header: boundHeader }, { ...demand, request: plainRequest(boundHeader) }, data()))

step('The same from the agent, who signs the request')
const request = await signedRequest(boundHeader, agentKey)
showVerdict(await verify({ header: boundHeader }, { ...demand, request }, data()))

step('The same request, sent once more')
showVerdict(await verify({ header: boundHeader }, { ...demand, request }, data()))

step('The agent hands a narrower credential to another agent, without asking anyone')
const helperKey = await generatePrivateKey('Ed25519')
const delegated = await delegateCredential(
  bound,
  {
    credentialId: `cred_${newId()}`,
    scope: ['orders:read'],
    holderKey: didKey(helperKey.publicKey),
    validFromMs: nowMs - 60_000,
    validUntilMs: nowMs + 60_000,
  },
  { key: agentKey, createdMs: nowMs - 60_000 },
)
const delegatedHeader = credentialHeader(delegated)
show('header', `X-Service-Credential, ${delegatedHeader.length} characters, the parent inside`)
const delegatedRequest = await signedRequest(delegatedHeader, helperKey)
showVerdict(await verify({ header: delegatedHeader }, { ...demand, request: delegatedRequest }, data()))

step('The first credential is revoked')
await append(view, 'credential.revoked', { credential_id: credentialId, revoked_at: formatTime(nowMs) })
showVerdict(await verify({ header }, demand, data()))

step('Why? Every check, explained for support')
showExplanation(await explain({ header }, demand, data()))

step('The verifier loses sight of the log for a minute')
const ageMs = view.ageMs({ wallMs: nowMs + 60_000, monotonicMs: 60_000 })
showVerdict(await verify({ header: boundHeader }, demand, { ...data(), ageMs }))
