import { delegateCredential } from '../src/credential/delegate.ts'
import type { JsonObject } from '../src/encoding/json.ts'
import { signDocument } from '../src/proof/sign.ts'
import {
  type Editable,
  edited,
  issue,
  NOW,
  newCredentialId,
  newParty,
  type Party,
  READ,
  shown,
  signedDemand,
  WRITE,
} from './sample.ts'

/** A root signed by an issuer, `depth` delegations from it, and the key of every holder. */
export interface Chain {
  readonly links: readonly JsonObject[]
  readonly holders: readonly Party[]
}

/**
 * `spoil(i, unsigned)` may change link `i` before it is signed (0 is the root) and may return
 * another signer than the holder of the parent. Later links are delegated from the changed link.
 */
export async function newChain(
  issuer: Party,
  depth: number,
  spoil: (i: number, unsigned: Editable) => Party | undefined | void = () => undefined,
): Promise<Chain> {
  const holders = [await newParty()]
  const root = await issue(issuer, { holderKey: (holders[0] as Party).did, delegable: true })
  const links = [await resign(root, issuer, (copy) => spoil(0, copy))]
  for (let i = 1; i <= depth; i++) {
    const parent = links[i - 1] as JsonObject
    const signer = holders[i - 1] as Party
    const holder = await newParty()
    const good = await goodChild(parent, signer, holder)
    holders.push(holder)
    links.push(await resign(good, signer, (copy) => spoil(i, copy)))
  }
  return { links, holders }
}

/** Delegates from a valid parent first, then replaces the parent. */
async function goodChild(parent: JsonObject, signer: Party, holder: Party): Promise<JsonObject> {
  const spare = await issue(signer, { holderKey: signer.did, delegable: true })
  const child = await delegateCredential(
    spare,
    {
      credentialId: newCredentialId(),
      scope: [READ, WRITE],
      holderKey: holder.did,
      delegable: true,
      validFromMs: NOW - 60_000,
      validUntilMs: NOW + 3_600_000,
    },
    { key: signer.key, createdMs: NOW - 1000 },
  )
  return edited(child, (copy) => {
    copy.parent = parent
    copy.credentialSubject.id = (parent as Editable).credentialSubject.id
  })
}

async function resign(
  document: JsonObject,
  signer: Party,
  spoil: (unsigned: Editable) => Party | undefined | void,
): Promise<JsonObject> {
  const { proof: _, ...unsigned } = structuredClone(document)
  const other = spoil(unsigned) ?? signer
  return signDocument(unsigned, { key: other.key, verificationMethod: other.method, createdMs: NOW - 1000 })
}

/** Presents link `i` of a chain (default: the last) with the proof of its holder. */
export async function showLink({ links, holders }: Chain, i = links.length - 1) {
  const presented = shown(links[i] as JsonObject)
  return { presented, demand: await signedDemand(holders[i] as Party, presented) }
}
