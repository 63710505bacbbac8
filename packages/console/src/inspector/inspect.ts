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
import { say, sayCount } from '../say.ts'
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
  freshness: say('Freshness'),
  reading: say('Format'),
  issuer: say('Issuer'),
  key: say('Issuer key'),
  signature: say('Signature'),
  delegation: say('Delegation'),
  issuer_limits: say('Issuer limits'),
  claims: say('Claims'),
  time: say('Time'),
  site: say('Site'),
  revocation: say('Revocation'),
  scope: say('Scope'),
  holder: say('Holder proof'),
  request: say('Request'),
  bearer: say('Bearer tokens'),
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
      return toInspection(say('HTTP request'), [
        {
          check: 'request',
          title: say('Request'),
          result: 'denied',
          detail: paste.denial.detail,
          code: paste.denial.code,
          isTrustworthy: false,
        },
      ])
    case 'api_key':
      return {
        ...toInspection(say('API key'), []),
        verdict: 'not_known',
        title: say(
          'This is an API key. It is a secret: delete it here, and replace the key if others saw it.',
        ),
      }
    case 'unknown':
      return {
        ...toInspection(say('Unknown text'), []),
        verdict: 'not_known',
        title: say('This is no credential, token or HTTP request that the page can read.'),
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
      ? toShown(each, 'not_checked', say('Not checked. Paste the whole HTTP request to check its signature.'))
      : toShown(each, each.result, each.denial === undefined ? facts[each.check] : undefined),
  )
  const isSigned = checks.every(({ trustworthy }) => trustworthy)
  return {
    ...toInspection(
      demand.request === undefined ? say('Credential') : say('HTTP request with a credential'),
      shown,
    ),
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

const SKIPPED = say('Not checked: it needs what an earlier check could not determine.')

function toInspection(what: string, checks: readonly InspectedCheck[]): Inspection {
  const first = checks.find(({ result }) => result === 'denied' || result === 'skipped')
  const problem = guardProblems[first?.code as keyof typeof guardProblems]
  const isOpen = checks.some(({ result }) => result === 'not_checked')
  return {
    what,
    verdict: first !== undefined ? 'rejected' : isOpen ? 'accepted_if' : 'accepted',
    title:
      first !== undefined
        ? say('Rejected: {why}', {
            why: lowerFirst(problem?.title ?? say('a check could not be made')),
          })
        : isOpen
          ? say('Accepted, if the holder signs the request')
          : say('Accepted'),
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
    freshness: say('Revocation data is {age} s old. The limit is {limit} s.', {
      age: (ageMs / 1000).toFixed(1),
      limit: ageMsMax / 1000,
    }),
    reading: sayCount(
      links,
      'Strict base64url and JSON, one proof.',
      'Strict base64url and JSON, {count} proofs.',
    ),
    issuer: say('{siteId} trusts {issuer}.', { siteId: site.siteId, issuer: root.issuer }),
    key:
      key === undefined
        ? ''
        : key.status === 'active'
          ? say('{id} is active and uses {algorithm}.', { id: key.id, algorithm: key.key.algorithm })
          : say('{id} is retired and uses {algorithm}.', { id: key.id, algorithm: key.key.algorithm }),
    signature: say('The proof matches the signed bytes.'),
    delegation:
      links === 1 ? say('Not delegated.') : say('{links} links. Each keeps or narrows the scope.', { links }),
    issuer_limits: say('The lifetime is within the limits of the site for this issuer.'),
    time: say('Valid until {time}, checked for {now}.', {
      time: formatTime(credential.validUntilMs),
      now: formatTime(nowMs),
    }),
    site: say('Issued for {site}.', { site: credential.site }),
    revocation:
      revocation === undefined
        ? say('Not revoked as of entry {seq}.', { seq: site.head.seq })
        : say('Revoked at {time} ({by}).', { time: formatTime(revocation.sinceMs), by: revocation.by }),
    scope:
      scope.length === 0
        ? say('No scope was asked for.')
        : say('{scope} is included.', { scope: scope.join(' ') }),
    holder:
      credential.holderKey === undefined
        ? say('Not bound to a key: any caller that has it can use it.')
        : `${
            request?.body === 'unseen'
              ? say('The holder signed this request; its body was not pasted.')
              : say('The holder signed this request.')
          } ${say(
            'A verifier accepts its nonce once; whether it was used before is not known here (proof_replayed).',
          )}`,
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
      ? toShown(each, 'not_checked', say('Not checked. Paste the whole HTTP request with its DPoP proof.'))
      : toShown(each, each.result, each.denial === undefined ? JWT_FACTS[each.check] : undefined),
  )
  return {
    ...toInspection(say('JWT access token'), shown),
    claims: read === undefined ? [] : listJwtClaims(read.header, read.claims),
    areClaimsSigned: checks.every(({ trustworthy }) => trustworthy),
  }
}

const JWT_FACTS: Readonly<Record<string, string>> = {
  freshness: say('Revocation data is fresh.'),
  reading: say('A signed JWT, strict base64url and JSON.'),
  issuer: say('The site trusts the issuer of the claim iss.'),
  key: say('The issuer has one key with this kid and alg.'),
  signature: say('The signature is that of the issuer’s key.'),
  claims: say('Audience, type and the required claims are as the site expects.'),
  time: say('The token is valid at this time.'),
  revocation: say('Neither the token nor its session, user or issuer is revoked.'),
  scope: say('The scope is included.'),
  holder: say('The proof of the holder fits, or the token is not bound to a key.'),
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
      isFresh ? undefined : say('The revocation data of this page is stale.'),
      'revocation_view_stale',
      say('Revocation data is {age} s old. The limit is {limit} s.', {
        age: (ageMs / 1000).toFixed(1),
        limit: ageMsMax / 1000,
      }),
    ),
    check(
      'reading',
      hasForm ? undefined : say('This is not the form of a bearer token: svc_at_ and 49 characters.'),
      'token_invalid',
      say('The form of a bearer token of Countersign.'),
    ),
    check(
      'bearer',
      site.settings.bearer === 'on' ? undefined : say('Bearer tokens are off at this site.'),
      'bearer_disabled',
      say('Bearer tokens are on at this site.'),
    ),
    check(
      'revocation',
      revocation === undefined
        ? undefined
        : say('Revoked at {time}.', { time: formatTime(revocation.sinceMs) }),
      'token_invalid',
      say('Its SHA-256 is not revoked as of entry {seq}.', { seq: site.head.seq }),
    ),
  ]
  const shown = {
    ...toInspection(say('Bearer token'), checks),
    revocation: revocation && { ...revocation, names: [digest] },
  }
  return shown.verdict === 'rejected'
    ? shown
    : {
        ...shown,
        verdict: 'not_known',
        title: say('Not known: only the service knows whether it issued this token'),
      }
}
