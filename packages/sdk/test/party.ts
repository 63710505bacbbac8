import {
  didKey,
  didKeyMethod,
  generatePrivateKey,
  issueCredential,
  type JsonObject,
  type PrivateKey,
} from '@countersign/core'

const SITE = 'demo.localhost'

/** An issuer, and what it gives out. */
export interface Party {
  readonly did: string
  issue(grant?: Partial<PartyGrant>): Promise<JsonObject>
}

interface PartyGrant {
  readonly siteId: string
  readonly ppid: string
  readonly scope: readonly string[]
  readonly holder: PrivateKey
  readonly delegable: boolean
  readonly lifeMs: number
  readonly nowMs: number
}

let made = 0
const newPpid = () => `did:service:ppid_${String(++made).padStart(52, 'a')}`

export async function newParty(): Promise<Party> {
  const key = await generatePrivateKey('Ed25519')
  const did = didKey(key.publicKey)
  return {
    did,
    issue(grant = {}) {
      const { holder, delegable = false, lifeMs = 3_600_000, nowMs = Date.now() } = grant
      return issueCredential(
        {
          credentialId: `cred_${crypto.randomUUID()}`,
          siteId: grant.siteId ?? SITE,
          ppid: grant.ppid ?? newPpid(),
          scope: grant.scope ?? ['orders:read', 'orders:write'],
          ...(holder && { holderKey: didKey(holder.publicKey), delegable }),
          validFromMs: nowMs - 1000,
          validUntilMs: nowMs + lifeMs,
        },
        { issuer: did, verificationMethod: didKeyMethod(key.publicKey), key, createdMs: nowMs - 1000 },
      )
    },
  }
}
