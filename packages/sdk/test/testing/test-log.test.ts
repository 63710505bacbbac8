import {
  type CredentialId,
  formatTime,
  GENESIS_HASH,
  type Ppid,
  parseSnapshotLine,
  type SiteId,
  SiteView,
  type SnapshotHead,
} from '@countersign/core'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { multikey } from '../../../core/test/log/log-sample.ts'
import { createTestLog, snapshotLines, type TestLog } from '../../src/testing/test-log.ts'

const SITE = 'shop.example' as SiteId
const START = Date.UTC(2026, 10, 14, 12)
const FEW = [0, 1, 2]
const ppid = (n: number) => `did:service:ppid_0000000${n}` as Ppid
const credential = (n: number) => `cred_0000000${n}` as CredentialId
const token = (n: number) => String(n).repeat(64)
const issuer = (n: number) => `did:web:issuer${n}.example`
const n = fc.constantFrom(...FEW)

/** Things that a service would write, in an order that it would write them in. */
const doings: Record<string, (log: TestLog, i: number, atMs: number) => Promise<unknown>> = {
  revokeUser: (log, i, at) => log.append('user.revoked', { ppid: ppid(i), revoked_at: formatTime(at) }, at),
  reinstateUser: async (log, i, at) => {
    if (log.view.userRevocation(ppid(i), START - 1) !== undefined)
      await log.append('user.reinstated', { ppid: ppid(i), reinstated_at: formatTime(at) }, at)
  },
  revokeCredential: (log, i, at) =>
    log.append('credential.revoked', { credential_id: credential(i), revoked_at: formatTime(at) }, at),
  revokeToken: (log, i, at) =>
    log.append('token.revoked', { token_sha256: token(i), revoked_at: formatTime(at) }, at),
  trust: (log, i, at) =>
    log.append(
      'issuer.trusted',
      {
        issuer: issuer(i),
        keys: [{ id: 'key-1', key: multikey(i), status: 'active' }],
        scope: i === 1 ? null : ['a' as never],
        credential_ttl_seconds_max: null,
      },
      at,
    ),
  distrust: (log, i, at) => log.append('issuer.distrusted', { issuer: issuer(i) }, at),
  retire: (log, i, at) =>
    log.append('key.retired', { issuer: issuer(i), key_id: 'key-1', at: formatTime(at) }, at),
  compromise: (log, i, at) =>
    log.append('key.compromised', { issuer: issuer(i), key_id: 'key-1', at: formatTime(at) }, at),
  bearer: (log, i, at) =>
    log.append(
      'site.changed',
      {
        bearer: i === 0 ? 'off' : 'on',
        holder_proof: i === 1 ? 'required' : 'optional',
        delegation: 'on',
        credential_ttl_seconds_max: null,
      },
      at,
    ),
}

const answers = (view: SiteView) => ({
  settings: view.settings,
  credentials: FEW.map((i) => view.credentialRevocation(credential(i))),
  tokens: FEW.map((i) => view.tokenRevocation(token(i))),
  users: FEW.map((i) => [0, 3_000, 20_000, 1e9].map((ms) => view.userRevocation(ppid(i), START + ms))),
  issuers: FEW.map((i) => {
    const known = view.issuer(issuer(i))
    return (
      known && [
        known.scope,
        [...known.keys.values()].map(({ id, status, changedAtMs }) => [id, status, changedAtMs]),
      ]
    )
  }),
  keys: FEW.map((i) => view.keyRevocation(issuer(i), 'key-1')),
})

test('a snapshot of the test log says what its entries say', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(fc.constantFrom(...Object.keys(doings)), n), { maxLength: 25 }),
      async (steps) => {
        const log = createTestLog(SITE, '0123456789abcdef')
        await doings.bearer?.(log, 2, START)
        let atMs = START
        for (const [what, i] of steps) await doings[what]?.(log, i, (atMs += 1_000))
        const { epoch, seq, hash } = log.head
        const head: SnapshotHead = {
          type: 'head',
          site_id: SITE,
          epoch,
          seq,
          hash,
          as_of: formatTime(atMs),
          max_age_seconds: 60,
          base: { seq: 0, hash: GENESIS_HASH },
        }
        const view = new SiteView({ siteId: SITE })
        const load = view.beginLoad(head)
        for (const line of snapshotLines(log.entries)) {
          const read = parseSnapshotLine(JSON.parse(JSON.stringify(line)))
          expect(read).toEqual(line)
          load.add(line)
        }
        expect(load.commit(log.proof(atMs))).toBe('loaded')
        expect(answers(view)).toEqual(answers(log.view))
      },
    ),
    { numRuns: 300 },
  )
})
