import { expect, it } from 'vitest'
import { migrations } from '../../src/store/migrations/all.ts'
import { beginBefore } from './earlier-version.ts'
import { forEachStoreWriter } from './store-writer.ts'

const VERSION =
  migrations.find(({ common }) => common.some((each) => each.includes('user_history')))?.version ?? 0
const SITE = 'old.example'
const [ANN, BOB, CAT, DAN] = ['ann', 'bob', 'cat', 'dan'].map((name) => `did:service:ppid_${name}-12345`)

forEachStoreWriter('the history of users in a store of an earlier version', (newWriter) => {
  it('is filled from the entries of the log and from the users', { tags: 'long' }, async () => {
    const writer = await newWriter()
    const { sql } = writer
    const migrate = await beginBefore(writer, VERSION)
    await sql(`INSERT INTO log (one, epoch, position, lineage, digest) VALUES (1, 'epoch001', 5, 'live', '')`)
    await sql(
      `INSERT INTO sites (site_id, return_urls, bearer, holder_proof, pairwise_secret_sealed, created_at) VALUES ($1, '[]', 'on', 'optional', 'x', 1)`,
      SITE,
    )
    const at = '2026-11-14T12:00:00.250Z'
    const entry = async (seq: number, kind: string, body: object, epoch = 'epoch001') =>
      sql(
        `INSERT INTO entries (epoch, position, site_id, seq, kind, body, at, prev_hash, hash) VALUES ($1, $2, $3, $2, $4, $5, $6, '', '')`,
        epoch,
        seq,
        SITE,
        kind,
        JSON.stringify(body),
        at,
      )
    await entry(1, 'user.revoked', { ppid: ANN, revoked_at: at }, 'epoch000')
    await entry(2, 'user.revoked', { ppid: ANN, revoked_at: at })
    await entry(3, 'user.signed_out', { before: at, ppid: ANN })
    await entry(4, 'user.signed_out', { before: at, ppid: BOB })
    await entry(5, 'credential.revoked', { credential_id: 'cred_12345678', revoked_at: at })
    const user = async (
      ppid: string | undefined,
      revoked: number,
      seq: number,
      reinstatedSeq: number | null,
    ) =>
      sql(
        `INSERT INTO users (site_id, ppid, revoked, first_at, revoked_at, reason, credential_ids, tokens_revoked, revoked_seq, revoked_position, cutoff, reinstated_seq, reinstated_position)
         VALUES ($1, $2, $3, 7, 7, 'left', '[]', 0, $4, $4, $5, $5, $5)`,
        SITE,
        ppid ?? '',
        revoked,
        seq,
        reinstatedSeq,
      )
    await user(ANN, 1, 2, null)
    // Of entries that were cut from the log.
    await user(CAT, 1, 0, null)
    await user(DAN, 0, 0, 1)
    await migrate()
    const rows = await sql('SELECT * FROM user_history ORDER BY ppid, seq')
    const atMs = Date.parse(at)
    const row = (ppid: string | undefined, seq: number, kind: string, more: object) => ({
      site_id: SITE,
      ppid,
      seq,
      kind,
      at: atMs,
      reason: null,
      revoked: 0,
      latest: 1,
      ...more,
    })
    expect(rows).toEqual([
      row(ANN, 2, 'user.revoked', { reason: 'left', revoked: 1, latest: 0 }),
      row(ANN, 3, 'user.signed_out', { revoked: 1 }),
      row(BOB, 4, 'user.signed_out', {}),
      row(CAT, 0, 'user.revoked', { at: 7, reason: 'left', revoked: 1 }),
      row(DAN, 1, 'user.reinstated', { at: 1 }),
    ])
  })
})
