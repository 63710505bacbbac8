import { generatePrivateKey, type LogHead, type SiteId } from '@countersign/core'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { HeadSigner } from '../../src/feed/head-signer.ts'
import { LiveViews } from '../../src/log/live-views.ts'
import { ClockDouble, LogDouble, quiet } from '../log/log-double.ts'

const SITE = 'a.example' as SiteId

let log: LogDouble
let clock: ClockDouble
let views: LiveViews
let signer: HeadSigner
beforeEach(async () => {
  log = new LogDouble()
  clock = new ClockDouble()
  await log.site(SITE)
  views = await LiveViews.open(log, clock, quiet, { viewAgeMsMax: 60_000 })
  const key = await generatePrivateKey('Ed25519')
  signer = new HeadSigner(SITE, {
    views,
    clock,
    keys: { feedKey: () => ({ kid: 'feed', key }) },
    ages: { seconds: () => 60 },
    mayConfirmHeads: () => true,
    silentMs: 60_000,
  })
})
afterEach(() => views.close())

const findHead = () => views.view(SITE)?.head as LogHead
/** Until the store has confirmed the end of the log at the present time of the clock. */
const waitForRead = () => expect.poll(() => views.age().asOfMs).toBe(clock.wallMs)

it('gives the same heartbeat again for a second', async () => {
  const first = await signer.sign(findHead(), false)
  clock.pass(999)
  await waitForRead()
  expect(await signer.sign(findHead(), false)).toBe(first)
  clock.pass(1)
  await waitForRead()
  expect(await signer.sign(findHead(), false)).not.toBe(first)
})

it('gives none of the former epoch, whose last entry has the same number', async () => {
  const former = await signer.sign(findHead(), false)
  log.entries = []
  log.epoch = 'e0000001'
  const position = await log.site(SITE)
  await expect.poll(() => views.view(SITE)?.head.epoch).toBe('e0000001')
  await views.waitFor(position)
  await waitForRead()
  const signed = await signer.sign(findHead(), false)
  expect(signed?.heartbeat).toMatchObject({ epoch: 'e0000001', seq: former?.heartbeat.seq })
})

it('gives none from before the clock was set back', async () => {
  const before = await signer.sign(findHead(), false)
  clock.wallMs -= 30_000
  await waitForRead()
  const signed = await signer.sign(findHead(), false)
  expect(signed?.asOfMs).toBe(clock.wallMs)
  expect(signed?.heartbeat.as_of).not.toBe(before?.heartbeat.as_of)
})
