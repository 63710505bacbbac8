import { randomUUID } from 'node:crypto'
import type { SiteId } from '@countersign/core'
import { afterEach, describe, expect, test } from 'vitest'
import {
  goodToken,
  IDP,
  newSender,
  newSigner,
  SESSION_REVOKED,
  type TestSigner,
} from '../../packages/service/test/signals/test-sender.ts'
import { startPostgres } from '../../packages/service/test/store/postgres-server.ts'
import { createClient } from '../process/client.ts'
import { readOutside } from '../process/outside-log.ts'
import { findScript } from '../process/scripts.ts'
import {
  cleanUp,
  createHome,
  furnish,
  pause,
  type ServiceProcess,
  type StartOptions,
  startFurnished,
  startService,
} from '../process/service-process.ts'

const RUN_MS_MAX = 600_000
const HASTY = findScript(new URL('../process/hasty-service.ts', import.meta.url))
const SENT = 60
const KILL_AFTER_MS_MAX = 300

afterEach(cleanUp)

interface KilledSignals {
  readonly databaseUrl?: string
  readonly rounds: number
  readonly entry?: StartOptions['entry']
  /** After the first answer. */
  readonly killAfterMsMax?: number
}

interface SignalReport {
  readonly acknowledged: number
  /** Acknowledged, and without an entry after the next start. */
  readonly lost: number
  /** Sent again after the start: each must have exactly one entry then. */
  readonly entriesOfEach: ReadonlySet<number>
}

/** Kills a service while signals arrive, starts it again, and sends all of them once more. */
async function killWithSignals({
  databaseUrl,
  rounds,
  entry,
  killAfterMsMax = KILL_AFTER_MS_MAX,
}: KilledSignals): Promise<SignalReport> {
  const home = await createHome(databaseUrl === undefined ? {} : { databaseUrl })
  const signer = await newSigner()
  const start = () => startService(home, entry === undefined ? {} : { entry })
  const furnished = entry === undefined ? await startFurnished(home) : undefined
  const dev = furnished?.dev ?? (await furnish(home))
  let node: ServiceProcess = furnished ?? (await start())
  const added = await createClient(node.url, dev).ask('POST', `/api/sites/${dev.site_id}/issuers`, {
    key: dev.operator_key,
    body: {
      type: 'oauth',
      issuer: IDP,
      audience: ['https://api.shop.example'],
      jwks: { keys: [signer.jwk] },
      signals: [newSender('events')],
    },
  })
  expect(added.status).toBe(201)
  const send = (token: string) =>
    fetch(`${node.url}/api/sites/${dev.site_id}/signals/events`, {
      method: 'POST',
      headers: { 'content-type': 'application/secevent+jwt' },
      body: token,
    }).then(({ status }) => status)
  /** How many entries a signal has, by the time of its event, which its entry states. */
  const countEntries = async () => {
    const { entries, faults } = await readOutside(home)
    expect(faults).toEqual([])
    const times = entries.filter(({ kind }) => kind === 'user.signed_out').map(({ body }) => body.before)
    return (atSeconds: number) =>
      times.filter((before) => Date.parse(String(before)) === atSeconds * 1000).length
  }
  /** Before the first signal. */
  const startSeconds = Math.floor(Date.now() / 1000)

  let [acknowledged, lost] = [0, 0]
  const entriesOfEach = new Set<number>()
  for (let round = 0; round < rounds; round++) {
    const signals = await newSignals(signer, dev.site_id as SiteId, startSeconds - round * SENT)
    const answers = signals.map(({ token }) => send(token).catch(() => undefined))
    await Promise.race(answers)
    await pause(Math.random() * killAfterMsMax)
    await node.kill('SIGKILL')
    const statuses = await Promise.all(answers)
    const found = await countEntries()
    for (const [i, { atSeconds }] of signals.entries()) {
      if (statuses[i] === undefined) continue
      expect(statuses[i]).toBe(202)
      acknowledged++
      if (found(atSeconds) === 0) lost++
    }
    node = await start()
    for (const { token } of signals) expect(await send(token)).toBe(202)
    if (lost > 0) break
    const foundAfter = await countEntries()
    for (const { atSeconds } of signals) entriesOfEach.add(foundAfter(atSeconds))
  }
  await node.stop()
  return { acknowledged, lost, entriesOfEach }
}

/** Each about another user, and with another time of its event. */
function newSignals(signer: TestSigner, siteId: SiteId, fromSeconds: number) {
  const nowSeconds = Math.floor(Date.now() / 1000)
  return Promise.all(
    Array.from({ length: SENT }, async (_, i) => {
      const atSeconds = fromSeconds - i
      const { header, claims } = goodToken('events', siteId, {
        claims: {
          iat: nowSeconds,
          sub_id: { format: 'iss_sub', iss: IDP, sub: randomUUID() },
          events: { [SESSION_REVOKED]: { event_timestamp: atSeconds } },
        },
      })
      return { token: await signer.sign(claims, header), atSeconds }
    }),
  )
}

describe('a service that is killed between a signal and its answer', () => {
  test('loses no signal that it has acknowledged, and acts once on those that are sent again: SQLite', {
    tags: 'long',
    timeout: RUN_MS_MAX,
  }, async () => {
    const report = await killWithSignals({ rounds: 2 })
    expect(report.acknowledged).toBeGreaterThan(0)
    expect(report).toMatchObject({ lost: 0, entriesOfEach: new Set([1]) })
  })

  test('the same on PostgreSQL', { tags: 'long', timeout: RUN_MS_MAX }, async () => {
    const server = await startPostgres()
    try {
      const report = await killWithSignals({ rounds: 1, databaseUrl: await server.createTables() })
      expect(report.acknowledged).toBeGreaterThan(0)
      expect(report).toMatchObject({ lost: 0, entriesOfEach: new Set([1]) })
    } finally {
      await cleanUp()
      await server.stop()
    }
  })

  test('control: a service that acknowledges before it writes loses signals', {
    tags: 'long',
    timeout: RUN_MS_MAX,
  }, async () => {
    const { lost } = await killWithSignals({ rounds: 1, entry: HASTY, killAfterMsMax: 0 })
    expect(lost).toBeGreaterThan(0)
  })
})
