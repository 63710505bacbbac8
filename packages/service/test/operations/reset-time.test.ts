import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { openStore } from '../../src/store/open.ts'
import type { Store } from '../../src/store/store.ts'
import { openClock } from '../../src/time/clock.ts'
import { quiet } from '../log/log-double.ts'
import { MASTER_KEY, MASTER_KEY_HEX, quietLog } from '../store/fixtures.ts'
import { type PostgresServer, startPostgres } from '../store/postgres-server.ts'
import { run } from './terminal.ts'

const DAY_MS = 86_400_000
const onFatal = (fault: Error) => {
  throw fault
}
let server: PostgresServer
let folder: string
beforeAll(async () => {
  server = await startPostgres()
})
afterAll(() => server?.stop())
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'countersign-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

interface House {
  command(...argv: string[]): ReturnType<typeof run>
  open(): Promise<Store>
}

const stores: readonly (readonly [string, () => Promise<House>])[] = [
  [
    'SQLite',
    async () => ({
      command: (...argv) => run([...argv, '--data-dir', folder]),
      open: () =>
        openStore(
          { kind: 'sqlite', file: join(folder, 'countersign.db') },
          { masterKey: MASTER_KEY, log: quietLog, onFatal },
        ),
    }),
  ],
  [
    'PostgreSQL',
    async () => {
      const url = await server.createTables()
      return {
        command: (...argv) =>
          run(argv, { COUNTERSIGN_DATABASE_URL: url, COUNTERSIGN_MASTER_KEY: MASTER_KEY_HEX }),
        open: () => openStore({ kind: 'postgres', url }, { masterKey: MASTER_KEY, log: quietLog, onFatal }),
      }
    },
  ],
]

/** Does something with the store while no other process has it. */
async function at<T>({ open }: House, work: (store: Store) => Promise<T>): Promise<T> {
  const store = await open()
  try {
    return await work(store)
  } finally {
    await store.close()
  }
}

/** A store on whose record a clock that was ten days ahead has left its mark. */
async function tenDaysAhead(house: House): Promise<number> {
  const atMs = Date.now() + 10.5 * DAY_MS
  await at(house, (store) => store.confirmTime(atMs, 0))
  return atMs
}

describe.each(stores)('reset-time on %s', (_, make) => {
  test('says of a store that no node has used that it has no time yet', { tags: 'long' }, async () => {
    const house = await make()
    await at(house, async () => undefined)
    expect(await house.command('reset-time')).toMatchObject({
      code: 0,
      said: 'No time is on record yet, because no node has used this store.',
    })
    const { said } = await house.command('reset-time', '--json')
    expect(JSON.parse(said)).toMatchObject({ changed: false, recorded: null })
    expect(await house.command('reset-time', '--yes')).toMatchObject({
      code: 0,
      said: expect.stringMatching(/^No time was on record\. It is \S+Z now\.$/),
    })
  })
  test('without --yes shows what it would do, and changes nothing', async () => {
    const house = await make()
    const atMs = await tenDaysAhead(house)
    const { code, said, noted } = await house.command('reset-time')
    expect(code).toBe(0)
    expect(said).toMatch(
      new RegExp(`^The time on record is ${new Date(atMs).toISOString()}, 10 d ahead of the present, 20`),
    )
    expect(noted).toMatch(/may be valid again.*\nNothing was changed\. .*countersign reset-time --yes/)
    await at(house, async (store) => {
      expect(await store.confirmedTime()).toEqual({ atMs, resets: 0 })
      expect(await store.auditRows(null, { after: undefined, limit: 10 })).toEqual([])
    })
  })

  test('sets the time to the present: a node that was not ready is ready, and the audit says from where', {
    tags: 'long',
  }, async () => {
    const house = await make()
    const fromMs = await tenDaysAhead(house)
    const doubts = await at(house, async (store) => {
      const clock = await openClock(store, quiet)
      await clock.close()
      return clock.problem()
    })
    expect(doubts).toMatch(/behind the time on record/)

    const beforeMs = Date.now()
    const { code, said, noted } = await house.command('reset-time', '--yes')
    expect(code).toBe(0)
    expect(said).toContain(`was ${new Date(fromMs).toISOString()}, 10 d ahead of the present, and is 20`)
    expect(noted).toContain('may be valid again')

    await at(house, async (store) => {
      const clock = await openClock(store, quiet)
      expect(clock.problem()).toBeUndefined()
      expect(clock.nowMs() - beforeMs).toBeLessThan(DAY_MS)
      await clock.close()
      const [row, ...more] = await store.auditRows(null, { after: undefined, limit: 10 })
      expect(more).toEqual([])
      expect(row).toMatchObject({
        action: 'time.reset',
        detail: { from: new Date(fromMs).toISOString() },
        context: { actor: 'operator' },
      })
      expect(said).toContain(`is ${row?.target} now.`)
    })
    const shown = await house.command('operator-audit', '--json')
    expect(JSON.parse(shown.said)).toMatchObject({ action: 'time.reset', actor: 'operator' })
  })

  test('takes a time that agrees with this machine, and no other', { tags: 'long' }, async () => {
    const house = await make()
    await tenDaysAhead(house)
    const wrong = [
      'tomorrow',
      '2027-03-01',
      '1767225600000',
      '2027-02-30T00:00:00Z',
      '2020-01-01T00:00:00Z',
      '2099-01-01T00:00:00Z',
    ]
    for (const time of wrong) {
      const { code, noted } = await house.command('reset-time', time, '--yes')
      expect([code, noted]).toEqual([2, expect.stringContaining(time)])
    }
    await at(house, async (store) => expect((await store.confirmedTime()).resets).toBe(0))
    const given = new Date(Date.now() - 20_000).toISOString()
    expect(await house.command('reset-time', given, '--yes')).toMatchObject({
      code: 0,
      said: expect.stringContaining(`is ${given} now.`),
    })
    await at(house, async (store) =>
      expect(await store.confirmedTime()).toEqual({ atMs: Date.parse(given), resets: 1 }),
    )
  })
})

test('on PostgreSQL a node that runs takes the reset in, and does not undo it', async () => {
  const house = await (stores[1] as (typeof stores)[number])[1]()
  await tenDaysAhead(house)
  await at(house, async (store) => {
    const clock = await openClock(store, quiet, undefined, 20)
    expect(clock.problem()).toBeDefined()
    expect(await house.command('reset-time', '--yes')).toMatchObject({ code: 0 })
    await expect.poll(() => clock.problem()).toBeUndefined()
    await new Promise((resolve) => setTimeout(resolve, 100))
    expect((await store.confirmedTime()).atMs - Date.now()).toBeLessThan(DAY_MS)
    await clock.close()
  })
})

test('with the embedded store it shows the time while the service runs, and is refused until it has stopped', async () => {
  const house = await (stores[0] as (typeof stores)[number])[1]()
  await at(house, async () => {
    expect(await house.command('reset-time')).toMatchObject({
      code: 0,
      said: expect.stringContaining('No time is on record yet'),
    })
    expect(await house.command('reset-time', '--yes')).toMatchObject({
      code: 1,
      noted: expect.stringContaining('is open in this process'),
    })
  })
})

test('makes no store where there is none', async () => {
  const house = await (stores[0] as (typeof stores)[number])[1]()
  expect(await house.command('reset-time')).toMatchObject({ code: 1 })
  expect(await house.command('reset-time', '--yes')).toMatchObject({
    code: 1,
    noted: expect.stringContaining('--data-dir'),
  })
  expect(readdirSync(folder)).toEqual([])
})

test('operator-audit takes a count, and refuses what is none', async () => {
  const house = await (stores[0] as (typeof stores)[number])[1]()
  for (let i = 0; i < 3; i++) await house.command('create-operator-key', `key ${i}`)
  const { code, said } = await house.command('operator-audit', '2', '--json')
  expect(code).toBe(0)
  expect(said.split('\n')).toHaveLength(2)
  for (const wrong of ['0', '-1', 'all'])
    expect(await house.command('operator-audit', wrong)).toMatchObject({ code: 2 })
})
