import {
  type Credential,
  type Demand,
  type ExplainedCheck,
  explain,
  findRevocation,
  findRoot,
  formatTime,
  guardProblems,
  isDenial,
  type JsonObject,
  listHolders,
  parseScopeList,
  type RevocationData,
  readCredentialHeader,
  readJwt,
  sha256Hex,
  toGrounds,
} from '@countersign/core'
import type { MetRevocation } from './find-entry.ts'
import type { Paste } from './read-paste.ts'

/** One check, in words. `not_checked`: what was pasted is not enough for it. */
export interface InspectedCheck {
  readonly check: string
  readonly title: string
  readonly result: ExplainedCheck['result'] | 'not_checked'
  readonly detail: string
  readonly code: string | undefined
  /** False if no valid signature covers what was checked. */
  readonly isTrustworthy: boolean
}

/** What the page shows about a paste. */
export interface Inspection {
  readonly what: string
  readonly verdict: 'accepted' | 'accepted_if' | 'rejected' | 'not_known'
  readonly title: string
  /** The first denial, which is what a verifier answers. */
  readonly code: string | undefined
  readonly status: number | undefined
  readonly checks: readonly InspectedCheck[]
  readonly claims: readonly (readonly [name: string, value: string])[]
  readonly areClaimsSigned: boolean
  /** The chain of a credential, the root first. */
  readonly chain: readonly ChainNode[]
  readonly revocation: MetRevocation | undefined
}

interface ChainNode {
  readonly id: string
  readonly scope: readonly string[]
  readonly isRevoked: boolean
}

interface Question {
  readonly data: RevocationData
  /** Separated by blanks. */
  readonly scope: string
  readonly nowMs: number
}

const TITLES: Readonly<Record<string, string>> = {
  freshness: 'Freshness',
  reading: 'Format',
  issuer: 'Issuer',
  key: 'Issuer key',
  signature: 'Signature',
  delegation: 'Delegation',
  issuer_limits: 'Issuer limits',
  claims: 'Claims',
  time: 'Time',
  site: 'Site',
  revocation: 'Revocation',
  scope: 'Scope',
  holder: 'Holder proof',
  request: 'Request',
  bearer: 'Bearer tokens',
}

/** Undefined if the scope cannot be read. */
export async function inspect(paste: Paste, question: Question): Promise<Inspection | undefined> {
  const scope = parseScopeList(question.scope.split(/\s+/).filter((word) => word !== ''))
  if (scope === undefined) return undefined
  const { data, nowMs } = question
  const request = 'request' in paste ? paste.request : undefined
  const demand: Demand = {
    scope,
    nowMs,
    // `explain` consumes no nonce, so any store will do.
    ...(request === undefined ? {} : { request, nonces: { consume: () => 'fresh' as const } }),
  }
  switch (paste.kind) {
    case 'credential':
      return inspectCredential(paste.header, demand, data)
    case 'jwt':
      return inspectJwt(paste, demand, data)
    case 'bearer':
      return inspectBearer(paste.token, data)
    case 'denied':
      return toInspection('HTTP request', [
        {
          check: 'request',
          title: 'Request',
          result: 'denied',
          detail: paste.denial.detail,
          code: paste.denial.code,
          isTrustworthy: false,
        },
      ])
    case 'api_key':
      return {
        ...toInspection('API key', []),
        verdict: 'not_known',
        title: 'This is an API key. It is a secret: delete it here, and replace the key if others saw it.',
      }
    case 'unknown':
      return {
        ...toInspection('Unknown text', []),
        verdict: 'not_known',
        title: 'This is no credential, token or HTTP request that the page can read.',
      }
  }
}

async function inspectCredential(header: string, demand: Demand, data: RevocationData): Promise<Inspection> {
  const { checks } = await explain({ header }, demand, data)
  const read = readCredentialHeader(header)
  const credential = isDenial(read) ? undefined : read.credential
  const isUnproven = credential?.holderKey !== undefined && demand.request === undefined
  const facts = credential === undefined ? {} : await toFacts(credential, demand, data)
  const shown = checks.map((each) =>
    each.check === 'holder' && isUnproven
      ? toShown(each, 'not_checked', 'Not checked. Paste the whole HTTP request to check its signature.')
      : toShown(each, each.result, each.denial === undefined ? facts[each.check] : undefined),
  )
  const isSigned = checks.every(({ trustworthy }) => trustworthy)
  return {
    ...toInspection(demand.request === undefined ? 'Credential' : 'HTTP request with a credential', shown),
    claims: credential === undefined ? [] : listClaims(credential),
    areClaimsSigned: isSigned,
    chain: credential === undefined ? [] : listChainNodes(credential, data),
    revocation: credential === undefined ? undefined : await meetRevocation(credential, data),
  }
}

async function meetRevocation(
  credential: Credential,
  { site }: RevocationData,
): Promise<MetRevocation | undefined> {
  const grounds = toGrounds(credential, await listHolders(credential))
  const found = findRevocation(grounds, site)
  if (found === undefined) return undefined
  const { credentialIds, holders, ppid, issuer } = grounds
  const names = [...credentialIds, ...holders, ppid, issuer].filter((name) => name !== undefined)
  return { ...found, names }
}

function toShown(
  { check, denial, trustworthy }: ExplainedCheck,
  result: InspectedCheck['result'],
  detail: string | undefined,
): InspectedCheck {
  return {
    check,
    title: TITLES[check] ?? check,
    result,
    detail: detail ?? denial?.detail ?? (result === 'skipped' ? SKIPPED : ''),
    code: result === 'denied' ? denial?.code : undefined,
    isTrustworthy: trustworthy,
  }
}

const SKIPPED = 'Not checked: it needs what an earlier check could not determine.'

function toInspection(what: string, checks: readonly InspectedCheck[]): Inspection {
  const first = checks.find(({ result }) => result === 'denied' || result === 'skipped')
  const problem = guardProblems[first?.code as keyof typeof guardProblems]
  const isOpen = checks.some(({ result }) => result === 'not_checked')
  return {
    what,
    verdict: first !== undefined ? 'rejected' : isOpen ? 'accepted_if' : 'accepted',
    title:
      first !== undefined
        ? `Rejected: ${lowerFirst(problem?.title ?? 'a check could not be made')}`
        : isOpen
          ? 'Accepted, if the holder signs the request'
          : 'Accepted',
    code: first?.code,
    status: problem?.status,
    checks,
    claims: [],
    areClaimsSigned: false,
    chain: [],
    revocation: undefined,
  }
}

function lowerFirst(text: string): string {
  return text.slice(0, 1).toLowerCase() + text.slice(1)
}

/** What each check has found, for those that pass. */
async function toFacts(
  credential: Credential,
  { scope, nowMs, request }: Demand,
  { site, ageMs, ageMsMax }: RevocationData,
): Promise<Readonly<Record<string, string>>> {
  const root = findRoot(credential)
  const links = listLinks(credential).length
  const key = site.issuer(root.issuer)?.keys.get(root.verificationMethod)
  const revocation = findRevocation(toGrounds(credential, await listHolders(credential)), site)
  return {
    freshness: `Revocation data is ${(ageMs / 1000).toFixed(1)} s old. The limit is ${ageMsMax / 1000} s.`,
    reading: `Strict base64url and JSON, ${links === 1 ? 'one proof' : `${links} proofs`}.`,
    issuer: `${site.siteId} trusts ${root.issuer}.`,
    key: key === undefined ? '' : `${key.id} is ${key.status} and uses ${key.key.algorithm}.`,
    signature: 'The proof matches the signed bytes.',
    delegation: links === 1 ? 'Not delegated.' : `${links} links. Each keeps or narrows the scope.`,
    issuer_limits: 'The lifetime is within the limits of the site for this issuer.',
    time: `Valid until ${formatTime(credential.validUntilMs)}, checked for ${formatTime(nowMs)}.`,
    site: `Issued for ${credential.site}.`,
    revocation:
      revocation === undefined
        ? `Not revoked as of entry ${site.head.seq}.`
        : `Revoked at ${formatTime(revocation.sinceMs)} (${revocation.by}).`,
    scope: scope.length === 0 ? 'No scope was asked for.' : `${scope.join(' ')} is included.`,
    holder:
      credential.holderKey === undefined
        ? 'Not bound to a key: any caller that has it can use it.'
        : `The holder signed this request${request?.body === 'unseen' ? '; its body was not pasted' : ''}. A verifier accepts its nonce once; whether it was used before is not known here (proof_replayed).`,
  }
}

function listLinks(credential: Credential): readonly Credential[] {
  return [...(credential.parent === undefined ? [] : listLinks(credential.parent)), credential]
}

function listChainNodes(credential: Credential, { site }: RevocationData): readonly ChainNode[] {
  let isRevoked = false
  return listLinks(credential).map(({ id, scope }) => {
    isRevoked ||= site.credentialRevocation(id) !== undefined
    return { id, scope, isRevoked }
  })
}

function listClaims(credential: Credential): Inspection['claims'] {
  const { parent } = credential
  return [
    ['id', credential.id],
    ['issuer', credential.issuer],
    ['subject', credential.ppid],
    ['site_id', credential.site],
    ['scope', credential.scope.join(' ')],
    ...(credential.permissionId === undefined ? [] : [['permission', credential.permissionId] as const]),
    ['holder_key', credential.holderKey ?? 'none'],
    ['delegable', credential.delegable ? 'yes' : 'no'],
    ['validFrom', formatTime(credential.validFromMs)],
    ['validUntil', formatTime(credential.validUntilMs)],
    ['signed', formatTime(credential.createdMs)],
    ['key', credential.verificationMethod],
    ...(parent === undefined ? [] : [['parent', parent.id] as const]),
  ]
}

async function inspectJwt(
  { jwt, request }: Extract<Paste, { kind: 'jwt' }>,
  demand: Demand,
  data: RevocationData,
): Promise<Inspection> {
  const { checks } = await explain(jwt, demand, data)
  const read = readJwt(jwt.jwt)
  const cnf = read?.claims.cnf
  const isUnproven = cnf !== undefined && request === undefined
  const shown = checks.map((each) =>
    each.check === 'holder' && isUnproven
      ? toShown(each, 'not_checked', 'Not checked. Paste the whole HTTP request with its DPoP proof.')
      : toShown(each, each.result, each.denial === undefined ? JWT_FACTS[each.check] : undefined),
  )
  return {
    ...toInspection('JWT access token', shown),
    claims: read === undefined ? [] : listJwtClaims(read.header, read.claims),
    areClaimsSigned: checks.every(({ trustworthy }) => trustworthy),
  }
}

const JWT_FACTS: Readonly<Record<string, string>> = {
  freshness: 'Revocation data is fresh.',
  reading: 'A signed JWT, strict base64url and JSON.',
  issuer: 'The site trusts the issuer of the claim iss.',
  key: 'The issuer has one key with this kid and alg.',
  signature: 'The signature is that of the issuer’s key.',
  claims: 'Audience, type and the required claims are as the site expects.',
  time: 'The token is valid at this time.',
  revocation: 'Neither the token nor its session, user or issuer is revoked.',
  scope: 'The scope is included.',
  holder: 'The proof of the holder fits, or the token is not bound to a key.',
}

function listJwtClaims(header: JsonObject, claims: JsonObject): Inspection['claims'] {
  const show = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value))
  return [
    ...Object.entries(header).map(([name, value]) => [`header.${name}`, show(value)] as const),
    ...Object.entries(claims).map(([name, value]) => [name, show(value)] as const),
  ]
}

const TOKEN = /^svc_at_[0-9A-Za-z]{49}$/

/** Of an opaque token, only its form and its revocation can be seen without asking the service. */
async function inspectBearer(token: string, { site, ageMs, ageMsMax }: RevocationData): Promise<Inspection> {
  const hasForm = TOKEN.test(token)
  const digest = await sha256Hex(token)
  const revocation = site.tokenRevocation(digest)
  const check = (name: string, denied: string | undefined, code: string, detail: string): InspectedCheck => ({
    check: name,
    title: TITLES[name] ?? name,
    result: denied === undefined ? 'passed' : 'denied',
    detail: denied ?? detail,
    code: denied === undefined ? undefined : code,
    isTrustworthy: false,
  })
  const isFresh = site.trusted && ageMs <= ageMsMax
  const checks = [
    check(
      'freshness',
      isFresh ? undefined : 'The revocation data of this page is stale.',
      'revocation_view_stale',
      `Revocation data is ${(ageMs / 1000).toFixed(1)} s old. The limit is ${ageMsMax / 1000} s.`,
    ),
    check(
      'reading',
      hasForm ? undefined : 'This is not the form of a bearer token: svc_at_ and 49 characters.',
      'token_invalid',
      'The form of a bearer token of Countersign.',
    ),
    check(
      'bearer',
      site.settings.bearer === 'on' ? undefined : 'Bearer tokens are off at this site.',
      'bearer_disabled',
      'Bearer tokens are on at this site.',
    ),
    check(
      'revocation',
      revocation === undefined ? undefined : `Revoked at ${formatTime(revocation.sinceMs)}.`,
      'token_invalid',
      `Its SHA-256 is not revoked as of entry ${site.head.seq}.`,
    ),
  ]
  const shown = {
    ...toInspection('Bearer token', checks),
    revocation: revocation && { ...revocation, names: [digest] },
  }
  return shown.verdict === 'rejected'
    ? shown
    : {
        ...shown,
        verdict: 'not_known',
        title: 'Not known: only the service knows whether it issued this token',
      }
}
