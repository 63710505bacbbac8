import { setImmediate as nextTurn } from 'node:timers/promises'
import { formatTime, generatePrivateKey, type LogHead, type Ppid, type SiteId } from '@countersign/core'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { FeedServer } from '../../src/feed/feed-server.ts'
import { createHeadAges } from '../../src/feed/head-ages.ts'
import { HeadSigner } from '../../src/feed/head-signer.ts'
import { LiveViews } from '../../src/log/live-views.ts'
import type { Site } from '../../src/store/operations/sites.ts'
import { ClockDouble, LogDouble, quiet } from '../log/log-double.ts'

const SITE = 'a.example' as SiteId
const REVOKED = { ppid: 'did:service:ppid_000000000001' as Ppid, revoked_at: formatTime(1_700_000_000_000) }

let log: LogDouble
let clock: ClockDouble
let views: LiveViews
let setting: number
beforeEach(async () => {
  log = new LogDouble()
  clock = new ClockDouble()
  setting = 60
  await log.site(SITE)
  views = await LiveViews.open(log, clock, quiet, { viewAgeMsMax: 60_000, waitMsMax: 60_000 })
})
afterEach(() => views.close())

const findHead = () => views.view(SITE)?.head as LogHead
const createAges = () => {
  const store = {
    site: async () => ({ maxStalenessSecondsMax: setting }) as Site,
    logPosition: () => log.logPosition(),
  }
  return createHeadAges(store, views)
}
/** Another node revokes, then changes the setting. */
const revokeAndChange = async (seconds: number) => {
  await log.append(SITE, 'user.revoked', REVOKED)
  setting = seconds
  return log.site(SITE)
}

it('a lagging node uses a raised age only once it has applied the change', async () => {
  const ages = createAges()
  const { promise: caughtUp, resolve: catchUp } = Promise.withResolvers<void>()
  log.gate = caughtUp
  await revokeAndChange(300)
  let seqWhenKnown = 0
  const known = Promise.resolve(ages.seconds(SITE)).then((seconds) => {
    seqWhenKnown = findHead().seq
    return seconds
  })
  // Long enough for every read of the store that does not wait for the log.
  for (let i = 0; i < 20; i++) await nextTurn()
  catchUp()
  expect(await known).toBe(300)
  expect(seqWhenKnown).toBe(3)
})

it('a lagging node that knows the age goes on with it until it has applied the change', async () => {
  const ages = createAges()
  await ages.seconds(SITE)
  const { promise: caughtUp, resolve: catchUp } = Promise.withResolvers<void>()
  log.gate = caughtUp
  const position = await revokeAndChange(300)
  expect([ages.seconds(SITE), findHead().seq]).toEqual([60, 1])
  catchUp()
  await views.waitFor(position)
  expect(await ages.seconds(SITE)).toBe(300)
})

/** Feeds of a node that has yet to read the age. */
async function openFeedsWaiting() {
  const key = await generatePrivateKey('Ed25519')
  const { promise: reading, resolve: finish } = Promise.withResolvers<number>()
  let age: number | Promise<number> = reading
  const admitted: string[] = []
  const verifiers = {
    admit: async ({ siteId }: { siteId: SiteId }) => {
      admitted.push(siteId)
      return ''
    },
    abandoned: () => {},
    opened: () => {},
    closed: () => {},
    mayConfirmHeads: () => true,
  }
  const store = { logPosition: () => log.logPosition() } as ConstructorParameters<
    typeof FeedServer
  >[0]['store']
  const keys = { feedKey: () => ({ kid: 'feed', key }) }
  const parts = { views, clock, keys, ages: { seconds: () => age } }
  const feeds = new FeedServer({ ...parts, store, verifiers, log: quiet })
  const signer = new HeadSigner(SITE, { ...parts, silentMs: 2000, mayConfirmHeads: () => true })
  const know = (seconds: number) => {
    age = seconds
    finish(seconds)
  }
  return { feeds, signer, admitted, know }
}

it('a stream begins when the age is known, so that it misses nothing while the age is read', async () => {
  const { feeds, admitted, know } = await openFeedsWaiting()
  const verifier = { verifierId: undefined, promise: undefined, isObserver: false }
  const opening = feeds.open({ siteId: SITE, keyId: 'one', cursor: undefined, verifier, isProxied: false })
  for (let i = 0; i < 20; i++) await nextTurn()
  expect(admitted).toEqual([])
  know(60)
  ;(await opening).release()
  expect(admitted).toEqual([SITE])
  await feeds.close()
})

it('an age that was waited for is not given to the head of before', async () => {
  const { feeds, signer, know } = await openFeedsWaiting()
  const heartbeat = signer.confirm(findHead(), true)
  await views.waitFor(await revokeAndChange(300))
  know(300)
  expect(await heartbeat).toBeUndefined()
  expect(await signer.confirm(findHead(), true)).toMatch(/"seq":3,.*"max_age_seconds":300/)
  await feeds.close()
})
