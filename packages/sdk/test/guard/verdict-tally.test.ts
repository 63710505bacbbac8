import { expect, test } from 'vitest'
import type { GuardClock } from '../../src/feed/clock.ts'
import { ServiceError, type TalliedVerdict } from '../../src/feed/verifier-api.ts'
import { createVerdictTally } from '../../src/guard/verdict-tally.ts'
import { createGuard } from '../../src/index.ts'
import { createTestSite } from '../../src/testing/index.ts'

function begin(send: (tallies: readonly TalliedVerdict[]) => Promise<void>) {
  const timers: { atMs: number; callback: () => void }[] = []
  let nowMs = 0
  const clock: GuardClock = {
    read: () => ({ wallMs: nowMs, monotonicMs: nowMs }),
    after(ms, callback) {
      const timer = { atMs: nowMs + ms, callback }
      timers.push(timer)
      return () => void timers.splice(timers.indexOf(timer), 1)
    },
  }
  const pass = async (ms: number) => {
    nowMs += ms
    for (const timer of timers
      .splice(0)
      .filter(({ atMs, ...each }) => atMs <= nowMs || !timers.push({ atMs, ...each })))
      timer.callback()
    await new Promise((resolve) => setImmediate(resolve))
  }
  return { tally: createVerdictTally(send, clock), pass }
}

test('reports at most once in ten seconds, and nothing when there is nothing', async () => {
  const sent: (readonly TalliedVerdict[])[] = []
  const { tally, pass } = begin(async (tallies) => void sent.push(tallies))
  await pass(60_000)
  for (let i = 0; i < 100; i++) tally.count('bearer', 'allowed')
  tally.count('none', 'credential_missing')
  await pass(9_999)
  expect(sent).toEqual([])
  await pass(1)
  expect(sent).toEqual([
    [
      { presented: 'bearer', outcome: 'allowed', count: 100 },
      { presented: 'none', outcome: 'credential_missing', count: 1 },
    ],
  ])
  tally.count('jwt', 'allowed')
  await pass(9_999)
  expect(sent).toHaveLength(1)
  await pass(1)
  expect(sent).toHaveLength(2)
  await pass(60_000)
  tally.count('jwt', 'allowed')
  await tally.close()
  expect(sent).toHaveLength(3)
  tally.count('jwt', 'allowed')
  await tally.close()
  expect(sent).toHaveLength(3)
})

test('keeps what could not be sent, and stops at a service that knows no reports', async () => {
  const sent: (readonly TalliedVerdict[])[] = []
  let fault: ServiceError | undefined = new ServiceError('unreachable', 'no')
  const { tally, pass } = begin(async (tallies) => {
    if (fault !== undefined) throw fault
    sent.push(tallies)
  })
  tally.count('bearer', 'allowed')
  await pass(10_000)
  tally.count('bearer', 'allowed')
  fault = undefined
  await pass(60_000)
  expect(sent.splice(0)).toEqual([[{ presented: 'bearer', outcome: 'allowed', count: 2 }]])
  fault = new ServiceError('rate_limited', 'no', 429)
  tally.count('bearer', 'allowed')
  await pass(10_000)
  fault = undefined
  await pass(60_000)
  expect(sent).toEqual([[{ presented: 'bearer', outcome: 'allowed', count: 1 }]])
  fault = new ServiceError('not_found', 'no', 404)
  tally.count('bearer', 'allowed')
  await pass(10_000)
  fault = undefined
  tally.count('bearer', 'allowed')
  await pass(600_000)
  await tally.close()
  expect(sent).toHaveLength(1)
})

test('a guard reports what it decided, by what was presented', async () => {
  const site = await createTestSite()
  const reports: unknown[] = []
  const guard = createGuard({
    ...site.guardOptions,
    verifierId: 'web',
    fetch: (url, init) => {
      if (url.endsWith('/feed/report')) reports.push(JSON.parse(String(init.body)))
      return site.service.fetch(url, init)
    },
  })
  await guard.ready()
  const ask = (headers: Readonly<Record<string, string>>) =>
    guard.verify({
      method: 'GET',
      url: `https://${site.siteId}/`,
      header: (name: string) => (headers[name] === undefined ? [] : [headers[name]]),
    } as never)
  await ask({})
  await ask({ 'x-service-credential': 'AAAA' })
  await ask({ authorization: 'Bearer svc_at_unknown' })
  await guard.close()
  await site.close()
  expect(reports).toHaveLength(1)
  expect(reports[0]).toEqual({
    tallies: [
      { presented: 'none', outcome: 'credential_missing', count: 1 },
      { presented: 'credential', outcome: 'credential_malformed', count: 1 },
      { presented: 'bearer', outcome: 'token_invalid', count: 1 },
    ],
  })
})
