import { didKey, issueCredential, type JsonObject, type PrivateKey } from '@countersign/core'
import { newParty as newKeyedParty, newPpid, toSigner } from '../../core/test/sample.ts'

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

export async function newParty(): Promise<Party> {
  const party = await newKeyedParty()
  return {
    did: party.did,
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
        toSigner(party, nowMs - 1000),
      )
    },
  }
}
