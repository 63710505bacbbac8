import postgres from 'postgres'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createRowMacs } from '../../src/sealing/row-macs.ts'
import { openStore } from '../../src/store/open.ts'
import { createToken } from '../../src/store/operations/tokens.ts'
import type { Query } from '../../src/store/postgres/connect.ts'
import { openMacKeyIn } from '../../src/store/postgres/postgres-store.ts'
import { runTransaction } from '../../src/store/postgres/run-transaction.ts'
import { WriterPool } from '../../src/store/postgres/writer-pool.ts'
import { context, MASTER_KEY, NOW, newSite, newToken, ppid, quietLog, seen } from './fixtures.ts'
import { type PostgresServer, startPostgres } from './postgres-server.ts'
import { storeSuite } from './store-suite.ts'

let server: PostgresServer
beforeAll(async () => {
  server = await startPostgres()
})
afterAll(() => server?.stop())

const open = (url: string) =>
  openStore(
    { kind: 'postgres', url },
    {
      masterKey: MASTER_KEY,
      log: quietLog,
      onFatal: (fault) => {
        throw fault
      },
    },
  )

storeSuite('PostgreSQL', async () => open(await server.createTables()))

describe('why the log is appended to as it is', () => {
  /**
   * Eight writers whose transactions overlap and partly fail, and a reader who follows the numbers.
   * What did the reader miss?
   */
  async function missed(url: string, append: string, read: string): Promise<number> {
    const sql = postgres(url, { max: 10, onnotice: () => {} })
    const followed: number[] = []
    let isOver = false
    const following = (async () => {
      for (;;) {
        const wasOver = isOver
        const page = await sql.unsafe(read, [Math.max(0, ...followed)])
        followed.push(...page.map((row) => Number(row.n)))
        if (wasOver) return
      }
    })()
    await Promise.all(
      Array.from({ length: 8 }, async (_, writer) => {
        for (let turn = 0; turn < 12; turn++) {
          await sql
            .begin(async (tx) => {
              await tx.unsafe(append)
              await tx.unsafe(`SELECT pg_sleep(${((writer * 5 + turn * 3) % 7) / 1000})`)
              if ((writer + turn) % 5 === 0) throw new Error('changed my mind')
            })
            .catch(() => {})
        }
      }),
    )
    isOver = true
    await following
    const all = await sql.unsafe(read, [0])
    await sql.end()
    return all.length - new Set(followed).size
  }

  it('misses nothing with the locked head', { tags: 'long' }, async () => {
    const url = await server.createTables()
    const store = await open(url)
    const site = newSite()
    await store.createSite(site, context())
    const body = `{"ppid":"${ppid()}","revoked_at":"2026-01-01T00:00:00Z"}`
    const append = `SELECT append_entry('${store.epoch}', '${site.siteId}', 'user.revoked', '${body}', '2026-01-01T00:00:00Z')`
    expect(await missed(url, append, 'SELECT position AS n FROM entries WHERE position > $1')).toBe(0)
    await store.close()
  })

  it('control: misses entries when the numbers come from a sequence', async () => {
    const url = await server.createDatabase()
    const sql = postgres(url, { max: 1 })
    await sql`CREATE TABLE numbered (n BIGSERIAL PRIMARY KEY, what TEXT)`
    await sql.end()
    expect(
      await missed(url, `INSERT INTO numbered (what) VALUES ('x')`, 'SELECT n FROM numbered WHERE n > $1'),
    ).toBeGreaterThan(0)
  })
})

describe('a statement that is sent and not waited for', () => {
  it('takes the whole transaction back when it fails, and is what the caller is told', async () => {
    const url = await server.createDatabase()
    const sessions = new WriterPool({ url, max: 1 })
    await sessions.transaction(({ query }) => query('CREATE TABLE written (n BIGINT PRIMARY KEY)'))
    const twice = sessions.transaction(async ({ query, send }) => {
      await query('INSERT INTO written VALUES (1)')
      send('INSERT INTO written VALUES (2)', [])
      send('INSERT INTO written VALUES (1)', [])
      send('INSERT INTO written VALUES (3)', [])
    })
    await expect(twice).rejects.toMatchObject({ code: '23505' })
    const asked = sessions.transaction(async ({ query, send }) => {
      send('INSERT INTO written VALUES (4), (4)', [])
      await query('SELECT 1')
    })
    await expect(asked).rejects.toMatchObject({ code: '23505' })
    expect(await sessions.transaction(({ query }) => query('SELECT * FROM written'))).toEqual([])
    await sessions.transaction(async ({ send }) => send('INSERT INTO written VALUES (5)', []))
    expect(await sessions.transaction(({ query }) => query('SELECT * FROM written'))).toEqual([{ n: 5 }])
    await sessions.end()
  })
})

describe('why a token is made under a lock', () => {
  /**
   * Revokes the user between the look at the revocations and the birth of the token. Is the token
   * alive afterwards?
   */
  async function isAlive(options: { readonly lock: boolean }): Promise<boolean> {
    const url = await server.createTables()
    const store = await open(url)
    const sessions = new WriterPool({ url, max: 1 })
    const macKey = await sessions.transaction((transaction) => openMacKeyIn(transaction, MASTER_KEY))
    const seal = { macs: createRowMacs(macKey), onForged: () => {} }
    const site = newSite()
    await store.createSite(site, context())
    const credential = seen(site.siteId)
    const token = newToken(credential)
    let revoking: Promise<unknown> | undefined
    const made = await sessions.transaction(({ query, send }) => {
      const interposed: Query = async (text, values) => {
        if (text.includes('pg_advisory_xact_lock') && !options.lock) return []
        const answer = await query(text, values)
        // The last thing it looks at before it writes.
        if (text.startsWith('SELECT COUNT(*) AS living')) {
          revoking = store.revokeUser(
            { siteId: site.siteId, ppid: credential.ppid, reason: undefined },
            context(),
          )
          // With the lock, the revocation waits for the end of this transaction.
          const aWhile = new Promise((resolve) => setTimeout(resolve, 300))
          await (options.lock ? Promise.race([revoking, aWhile]) : revoking)
        }
        return answer
      }
      return runTransaction(
        createToken(token, 20, NOW),
        { query: interposed, send },
        { epoch: store.epoch, integrity: seal },
      )
    })
    expect(made).toBe('created')
    await revoking
    const found = await store.token(token.sha256)
    await sessions.end()
    await store.close()
    return found !== undefined && found.revokedAtMs === undefined
  }

  it('does not outlive a revocation that comes at the worst moment', async () => {
    expect(await isAlive({ lock: true })).toBe(false)
  })

  it('control: does without the lock', async () => {
    expect(await isAlive({ lock: false })).toBe(true)
  })
})
