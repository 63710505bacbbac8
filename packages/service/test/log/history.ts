import type { CredentialId, Ppid, SiteId } from '@countersign/core'
import { expect } from 'vitest'
import { createSealer } from '../../src/sealing/sealer.ts'
import { digestSite, digestSites } from '../../src/store/checkpoint-digests.ts'
import { loadCheckpoint } from '../../src/store/checkpoints/load-checkpoint.ts'
import type { Store } from '../../src/store/store.ts'
import {
  context,
  credentialId,
  MASTER_KEY,
  NOW,
  newIssuer,
  newSite,
  newToken,
  ppid,
  seen,
} from '../store/fixtures.ts'

const SEALED = createSealer(MASTER_KEY).seal('test', 'x')

/** A site with an issuer, and everything that happened to it. */
export interface History {
  readonly siteId: SiteId
  readonly issuer: string
  readonly users: Ppid[]
  readonly credentials: CredentialId[]
  readonly tokens: string[]
}

export async function beginHistory(store: Store): Promise<History> {
  const site = newSite({ pairwiseSecretSealed: SEALED })
  const { siteId } = site
  await store.createSite(site, context())
  const added = await newIssuer(siteId)
  await store.addIssuer(added, context())
  const users = Array.from({ length: 4 }, ppid)
  return { siteId, issuer: added.issuer, users, credentials: [], tokens: [] }
}

/** One change, chosen by `pick` from 0 to below 1. */
export async function change(
  store: Store,
  history: History,
  pick: () => number,
  atMs: number,
): Promise<void> {
  const { siteId, issuer, users, credentials, tokens } = history
  const user = { siteId, ppid: users[Math.floor(pick() * users.length)] as Ppid, reason: undefined }
  const now = context(atMs)
  switch (Math.floor(pick() * 10)) {
    case 0:
    case 1:
      return void (await store.revokeUser(user, now))
    case 2:
    case 3:
      return void (await store.reinstateUser(user, now))
    case 4: {
      const id = credentialId()
      credentials.push(id)
      return void (await store.revokeCredential({ siteId, credentialId: id, reason: undefined }, now))
    }
    case 5: {
      const token = newToken(seen(siteId))
      tokens.push(token.sha256)
      await store.createToken(token, 20, NOW, seen(siteId))
      return void (await store.revokeToken({ siteId, sha256: token.sha256, reason: undefined }, now))
    }
    case 6: {
      const next = ppid()
      users.push(next)
      return void (await store.revokeUser({ ...user, ppid: next }, now))
    }
    case 7:
      return void (await store.signOutUsers(
        { siteId, ppids: [user.ppid], beforeMs: atMs, reason: undefined },
        now,
      ))
    case 8:
      return void (await store.changeIssuer(siteId, issuer, { label: `label ${atMs}` }, now))
    default:
      return void (await store.changeSite(siteId, { bearer: pick() < 0.5 ? 'on' : 'off' }, now))
  }
}

/** Moves the base to the checkpoint, as a cut does before it removes entries. */
export async function moveBase(store: Store): Promise<number> {
  const found = await loadCheckpoint(store)
  if (found === undefined) throw new Error('there is no checkpoint')
  const { checkpoint } = found
  const sites = [...found.sites.values()].map((site) => ({ ...site, baseSeq: site.seq, baseHash: site.hash }))
  const next = {
    ...checkpoint,
    basePosition: checkpoint.position,
    baseDigest: checkpoint.digest,
    sitesSha256: digestSites(new Map(sites.map((site) => [site.siteId, digestSite(site)]))),
  }
  expect(await store.replaceCheckpoint(checkpoint, next, { sites })).toBe(true)
  return next.basePosition
}
