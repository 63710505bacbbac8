import {
  deriveSessionId,
  deriveSubjectPpid,
  deriveTokenId,
  deriveUserRefPpid,
  type EntryBodies,
  type EntryKind,
  formatTime,
  type JsonObject,
  OAUTH_ISSUER_DEFAULTS,
  OAUTH_KEYS_MAX,
  type OAuthIssuerState,
  type Ppid,
  type SubjectKey,
} from '@countersign/core'
import { requireOptions } from '../shared/require-options.ts'
import type { TestClock } from './test-clock.ts'
import {
  createSigningKey,
  sha256Base64url,
  signJwt,
  type TestJwtAlgorithm,
  withoutUndefined,
} from './test-jwt-keys.ts'

/** Under which conditions a site trusts an issuer: the members of the wire contract. */
export type TestOAuthConditions = Partial<
  Omit<OAuthIssuerState, 'type' | 'issuer' | 'keys' | 'scope' | 'scope_map'> & {
    readonly scope: readonly string[] | null
    readonly scope_map: Readonly<Record<string, readonly string[]>>
  }
>

export interface TestOAuthIssuerOptions extends TestOAuthConditions {
  /** Default `https://idp.example`. */
  readonly issuer?: string
  /** Default ES256. */
  readonly algorithm?: TestJwtAlgorithm
}

/** What an access token says. */
export interface TestTokenGrant {
  /** Default `alice`. */
  readonly subject?: string
  /** Default `orders:read`. */
  readonly scope?: string | readonly string[]
  readonly ttlSeconds?: number
  readonly clientId?: string
  /** Default: a random one. */
  readonly jti?: string
  /** The session at the issuer, in the claim that `session_claim` names. */
  readonly session?: string
  /** Bound to a key of its own, so that requests need a DPoP proof. */
  readonly bound?: boolean
  /** More claims, or other values for those above. A claim that is undefined is left out. */
  readonly claims?: Readonly<Record<string, unknown>>
  /** The same for the header. */
  readonly header?: Readonly<Record<string, unknown>>
}

export interface TestAccessToken {
  readonly jwt: string
  readonly claims: JsonObject
  /** The thumbprint of its key, if it is bound to one. */
  readonly holderThumbprint?: string
  /**
   * The headers of a request with this token: with a new DPoP proof if it is bound. `claims` are
   * other values for those of the proof.
   */
  headersFor(
    method: string,
    url: string,
    claims?: Readonly<Record<string, unknown>>,
  ): Promise<Record<string, string>>
}

/** An issuer of JWT access tokens that a test site trusts. */
export interface TestOAuthIssuer {
  readonly issuer: string
  /** Its public key, as its key set lists it. */
  readonly jwk: JsonObject
  /** Signs an access token with the current key. */
  sign(grant?: TestTokenGrant): Promise<TestAccessToken>
  /** Trusts the issuer again, or under other conditions. */
  trust(changes?: TestOAuthConditions): Promise<void>
  distrust(): Promise<void>
  /** Ends every token that was issued up to now. */
  cutOff(): Promise<void>
  /** A new key signs from now on. The site trusts it only after `trust`. */
  rotateKey(): Promise<void>
  compromiseKey(): Promise<void>
  revokeUser(subject: string): Promise<void>
  reinstateUser(subject: string): Promise<void>
  /** Ends the tokens that the user has now. Later ones are valid. */
  signOutUser(subject: string): Promise<void>
  revokeToken(token: TestAccessToken): Promise<void>
  endSession(session: string): Promise<void>
}

/** What the issuer needs from its test site. */
export interface TestOAuthSite {
  readonly siteId: string
  readonly clock: TestClock
  readonly subjectKey: SubjectKey
  append<Kind extends EntryKind>(kind: Kind, body: EntryBodies[Kind]): Promise<void>
}

/** Creates the issuer and has the site trust it. */
export async function createTestOAuthIssuer(
  { siteId, clock, subjectKey, append }: TestOAuthSite,
  options: TestOAuthIssuerOptions,
): Promise<TestOAuthIssuer> {
  const { issuer = 'https://idp.example', algorithm = 'ES256', ...conditions } = options
  let key = await createSigningKey(algorithm)
  let state = {
    ...OAUTH_ISSUER_DEFAULTS,
    issuer,
    keys: [key.state],
    audience: [`https://${siteId}`],
    ...conditions,
  } as unknown as OAuthIssuerState
  const trust = async (changes: TestOAuthConditions = {}) => {
    const others = state.keys.filter(({ id }) => id !== key.state.id)
    const own = state.keys.find(({ id }) => id === key.state.id) ?? key.state
    state = {
      ...state,
      ...changes,
      keys: [...others, own].slice(-OAUTH_KEYS_MAX),
    } as unknown as OAuthIssuerState
    await append('oauth_issuer.trusted', state)
  }
  const nowText = () => formatTime(clock.nowMs)
  const toPpid = (subject: string): Promise<Ppid> =>
    state.user_ref_from_subject
      ? deriveUserRefPpid(subjectKey, subject)
      : deriveSubjectPpid(subjectKey, issuer, subject)
  await trust()

  return {
    issuer,
    get jwk() {
      return key.jwk
    },
    async sign(grant = {}) {
      requireOptions<TestTokenGrant>('sign', grant, {
        subject: 'string',
        scope: 'strings',
        ttlSeconds: 'number',
        clientId: 'string',
        jti: 'string',
        session: 'string',
        bound: 'boolean',
        claims: 'object',
        header: 'object',
      })
      const { subject = 'alice', scope = 'orders:read', ttlSeconds = 3_600, clientId = 'test-client' } = grant
      const { jti = crypto.randomUUID(), session, bound = false } = grant
      const holder = bound ? await createSigningKey('ES256') : undefined
      const issuedAt = Math.floor(clock.nowMs / 1000)
      const claims = withoutUndefined({
        iss: issuer,
        [state.subject_claim]: subject,
        aud: state.audience[0],
        client_id: clientId,
        [state.scope_claim]: typeof scope === 'string' ? scope : scope.join(' '),
        jti,
        iat: issuedAt,
        exp: issuedAt + ttlSeconds,
        ...(session !== undefined && state.session_claim !== null && { [state.session_claim]: session }),
        ...(holder && { cnf: { jkt: holder.state.id } }),
        ...grant.claims,
      })
      const header = withoutUndefined({ typ: 'at+jwt', alg: algorithm, kid: key.kid, ...grant.header })
      const jwt = await signJwt(header, claims, key)
      return {
        jwt,
        claims,
        ...(holder && { holderThumbprint: holder.state.id }),
        async headersFor(method, url, others = {}) {
          if (holder === undefined) return { authorization: `Bearer ${jwt}` }
          const proof = {
            htm: method,
            htu: url.split(/[?#]/, 1)[0] as string,
            iat: Math.floor(clock.nowMs / 1000),
            jti: crypto.randomUUID(),
            ath: await sha256Base64url(jwt),
            ...others,
          }
          const dpop = { typ: 'dpop+jwt', alg: 'ES256', jwk: holder.jwk }
          return { authorization: `DPoP ${jwt}`, dpop: await signJwt(dpop, withoutUndefined(proof), holder) }
        },
      }
    },
    trust,
    distrust: () => append('issuer.distrusted', { issuer }),
    cutOff: () => append('issuer.cut_off', { issuer, before: nowText() }),
    async rotateKey() {
      key = await createSigningKey(algorithm)
    },
    compromiseKey: () => append('key.compromised', { issuer, key_id: key.state.id, at: nowText() }),
    async revokeUser(subject) {
      await append('user.revoked', { ppid: await toPpid(subject), revoked_at: nowText() })
    },
    async reinstateUser(subject) {
      await append('user.reinstated', { ppid: await toPpid(subject), reinstated_at: nowText() })
    },
    async signOutUser(subject) {
      await append('user.signed_out', { ppid: await toPpid(subject), before: nowText() })
    },
    async revokeToken({ claims: { jti } }) {
      if (typeof jti !== 'string') throw new TypeError('only a token with a jti can be revoked here')
      const id = await deriveTokenId(subjectKey, issuer, jti)
      await append('credential.revoked', { credential_id: id, revoked_at: nowText() })
    },
    async endSession(session) {
      const id = await deriveSessionId(subjectKey, issuer, session)
      await append('credential.revoked', { credential_id: id, revoked_at: nowText() })
    },
  }
}
