import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { type PostgresServer, startPostgres } from '../../packages/service/test/store/postgres-server.ts'
import { addIssuer, createClient } from '../process/client.ts'
import { changeDatabase } from '../process/outside-log.ts'
import {
  cleanUp,
  createHome,
  furnish,
  runCommand,
  startFurnished,
  startService,
} from '../process/service-process.ts'

const TEST_MS_MAX = 300_000
/** Ten days and a bit. */
const AHEAD_MS = 10.5 * 86_400_000

let server: PostgresServer
beforeAll(async () => {
  server = await startPostgres()
}, TEST_MS_MAX)
afterEach(cleanUp)
afterAll(() => server?.stop())

/** What a node with a clock ten days ahead leaves behind. */
const moveAhead = () => `UPDATE confirmed_time SET at = ${Date.now() + AHEAD_MS}`

describe('a time on record that a wrong clock has put far ahead', () => {
  test('makes a node not ready; reset-time makes it ready again (SQLite, I-12)', {
    tags: 'long',
    timeout: TEST_MS_MAX,
  }, async () => {
    const home = await createHome()
    const dev = await furnish(home)
    await changeDatabase(home, moveAhead())
    const wrong = await startService(home, { readyOrNot: true })
    const client = createClient(wrong.url, dev)
    expect(await client.ready()).toBe(false)
    expect(wrong.output()).toMatch(/is 90\d{4} s behind the time on record.*countersign reset-time/)
    // Shown to the node all the same, what expired by the time on record stays expired.
    const issuer = await addIssuer(client, dev)
    const made = await issuer.issue()
    expect((await client.show(made.header)).body.code).toBe('credential_expired')
    expect((await runCommand(home, ['reset-time', '--yes'])).noted).toContain(
      `belongs to another process (process ${wrong.pid})`,
    )
    await wrong.stop()

    expect(await runCommand(home, ['reset-time'])).toMatchObject({
      code: 0,
      said: expect.stringContaining('10 d ahead of the present'),
    })
    expect(await runCommand(home, ['reset-time', '--yes'])).toMatchObject({
      code: 0,
      said: expect.stringContaining('10 d ahead'),
    })
    await startService(home)
    expect((await client.show(made.header)).status).toBe(200)
    expect(JSON.parse((await runCommand(home, ['operator-audit', '1', '--json'])).said)).toMatchObject({
      actor: 'operator',
    })
    expect((await runCommand(home, ['operator-audit'])).said).toContain('  time.reset ')
  })

  test('is reset while two nodes run on PostgreSQL, and neither brings it back', {
    tags: 'long',
    timeout: TEST_MS_MAX,
  }, async () => {
    const home = await createHome({ databaseUrl: await server.createTables() })
    const first = await startFurnished(home)
    const { dev } = first
    const nodes = [first, await startService(home, { port: (await createHome()).port })]
    const clients = nodes.map(({ url }) => createClient(url, dev))
    const ready = () => Promise.all(clients.map((client) => client.ready()))
    await changeDatabase(home, moveAhead())
    await expect.poll(ready).toEqual([false, false])
    expect(await runCommand(home, ['reset-time', '--yes'])).toMatchObject({
      code: 0,
      said: expect.stringContaining('10 d ahead'),
    })
    await expect.poll(ready).toEqual([true, true])
    // Longer than a node takes to tell the store its time.
    await new Promise((resolve) => setTimeout(resolve, 6000))
    expect(await ready()).toEqual([true, true])
    for (const { output } of nodes) expect(output()).toContain('an operator has reset the time')
    expect(await runCommand(home, ['reset-time'])).toMatchObject({
      code: 0,
      said: expect.not.stringContaining(' d ahead'),
    })
  })
})
