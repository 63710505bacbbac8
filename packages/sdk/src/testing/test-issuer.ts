import {
  type CredentialId,
  didKey,
  didKeyMethod,
  generatePrivateKey,
  type IssuerState,
  issueCredential,
  parseScopeList,
  type SiteId,
} from '@countersign/core'
import { requireOptions } from '../shared/require-options.ts'
import type { TestClock } from './test-clock.ts'
import { type TestCredential, toPpid, toTestCredential } from './test-credential.ts'

/** What to issue. */
export interface TestGrant {
  /** Any name; the same name is the same user. */
  readonly user?: string
  readonly scope?: string | readonly string[]
  readonly ttlSeconds?: number
  /** Bound to a key of its own, so that requests must be signed. */
  readonly bound?: boolean
  readonly delegable?: boolean
}

/** The issuer of a test site, with one key. */
export interface TestIssuer {
  readonly did: string
  readonly keyId: string
  /** As a log states it when a site begins to trust the issuer. */
  readonly state: IssuerState
  issue(grant?: TestGrant): Promise<TestCredential>
}

/** Credentials are valid from a little before now, as those of a real issuer are. */
const LEAD_MS = 1_000

export async function createTestIssuer(siteId: SiteId, clock: TestClock): Promise<TestIssuer> {
  const key = await generatePrivateKey('Ed25519')
  const did = didKey(key.publicKey)
  const keyId = key.publicKey.multikey
  let issued = 0
  return {
    did,
    keyId,
    state: {
      issuer: did,
      keys: [{ id: keyId, key: keyId, status: 'active' }],
      scope: null,
      credential_ttl_seconds_max: null,
    },
    async issue(grant = {}) {
      requireOptions<TestGrant>('issue', grant, {
        user: 'string',
        scope: 'strings',
        ttlSeconds: 'number',
        bound: 'boolean',
        delegable: 'boolean',
      })
      const { user = 'alice', ttlSeconds = 3_600, bound = false, delegable = false } = grant
      const { scope = ['orders:read'] } = grant
      const holderKey = bound || delegable ? await generatePrivateKey('Ed25519') : undefined
      const credentialId = `cred_${String(++issued).padStart(26, '0')}` as CredentialId
      const ppid = await toPpid(siteId, user)
      const scopes = parseScopeList(typeof scope === 'string' ? [scope] : scope)
      if (scopes === undefined) throw new TypeError('scope must be scopes, without repetition')
      const credential = await issueCredential(
        {
          credentialId,
          ppid,
          siteId,
          scope: scopes,
          ...(holderKey && { holderKey: didKey(holderKey.publicKey) }),
          ...(delegable && { delegable }),
          validFromMs: clock.nowMs - LEAD_MS,
          validUntilMs: clock.nowMs + ttlSeconds * 1000,
        },
        { issuer: did, verificationMethod: didKeyMethod(key.publicKey), key, createdMs: clock.nowMs },
      )
      return toTestCredential(credential, credentialId, ppid, holderKey, clock)
    },
  }
}
