import { expect, it } from 'vitest'
import { migrations } from '../../src/store/migrations/all.ts'
import { beginBefore } from './earlier-version.ts'
import { forEachStoreWriter } from './store-writer.ts'

const [SITE, OTHER] = ['old.example', 'other.example']
const [ROOT, LEAF] = ['cred_root', 'cred_leaf']

forEachStoreWriter('the credentials of a store of the version before', (newWriter) => {
  it.each([40, 41, 42])('are the same in version %i', { tags: 'long' }, async (version) => {
    const writer = await newWriter()
    const { sql } = writer
    const migrate = await beginBefore(writer, version)
    for (const site of [SITE, OTHER]) {
      await sql(
        `INSERT INTO sites (site_id, return_urls, bearer, holder_proof, pairwise_secret_sealed, created_at) VALUES ($1, '[]', 'on', 'optional', 'x', 1)`,
        site,
      )
    }
    const add = async (site: string, id: string, links: readonly string[]) => {
      await sql(
        `INSERT INTO credentials (site_id, credential_id, ppid, issuer, scope, permission_id, chain, created, valid_from, valid_until, holder_bound, source, known_at, issuer_key, status)
         VALUES ($1, $2, 'ann', 'did:web:issuer.example', '["read"]', 'permission', '[]', 1, 2, 3, 1, 'presented', 4, NULL, 'active')`,
        site,
        id,
      )
      for (const link of links)
        await sql(
          'INSERT INTO credential_links (site_id, credential_id, link_id) VALUES ($1, $2, $3)',
          site,
          id,
          link,
        )
    }
    await add(SITE, ROOT, [ROOT])
    await add(SITE, LEAF, [LEAF, ROOT])
    await add(OTHER, ROOT, [ROOT])
    const read = async () => [
      ...(await sql('SELECT * FROM credentials ORDER BY site_id, credential_id')),
      ...(await sql('SELECT * FROM credential_links ORDER BY site_id, credential_id, link_id')),
    ]
    const before = await read()
    expect(before).toHaveLength(7)
    await migrate()
    expect(await read()).toEqual(before)
    await expect(add(OTHER, ROOT, [])).rejects.toThrow(/unique/i)
  })
})

// From the first DROP INDEX until the end of the transaction, no other node can read the table, so
// none could revoke a user.
it.each([40, 41])('version %i builds its indexes on PostgreSQL before it locks readers out', (version) => {
  const found = migrations.find((each) => each.version === version)
  const statements = [...(found?.common ?? []), ...(found?.postgres ?? [])]
  const isBuilding = (statement: string) => /^CREATE (?:UNIQUE )?INDEX/.test(statement)
  const isLocking = (statement: string) => /^(?:DROP INDEX|ALTER TABLE)/.test(statement)
  expect([statements.some(isBuilding), statements.some(isLocking)]).toEqual([true, true])
  expect(statements.findLastIndex(isBuilding)).toBeLessThan(statements.findIndex(isLocking))
})
