import { checkHeartbeat, parseHeadHeader } from '@countersign/core'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createTestSite, type TestSite } from '../../src/testing/test-site.ts'
import { createHandFeed, heartbeatBytes } from '../hand-feed.ts'
import { meddled } from '../network.ts'

let site: TestSite
beforeEach(async () => {
  site = await createTestSite()
})
afterEach(() => site.close())

test('A274: a guard shows the last heartbeat that proved its head whenever it connects to the feed, and to nothing else', async () => {
  const hand = createHandFeed(site)
  const shown: [string, string | null][] = []
  const fetch = meddled(hand.fetch, {
    before: (path, init) => {
      shown.push([path.split('/').at(-1) ?? '', new Headers(init.headers).get('x-verifier-head')])
      return undefined
    },
  })
  const guard = site.guard({ fetch })
  const first = await hand.connection()
  await first.push(await heartbeatBytes(site))
  await guard
  const { epoch, seq, hash } = site.log.head
  await first.cut('end')
  await hand.connection()
  const feeds = shown.filter(([path]) => path === 'feed').map(([, header]) => header)
  expect(feeds[0]).toBe(null)
  const heartbeat = parseHeadHeader(feeds[1] ?? '')
  expect(heartbeat).toMatchObject({ site_id: site.siteId, epoch, seq, hash })
  expect(heartbeat && (await checkHeartbeat(heartbeat, site.feedKey.key.publicKey))).toBeDefined()
  expect(shown.every(([path, header]) => path === 'feed' || header === null)).toBe(true)
})
