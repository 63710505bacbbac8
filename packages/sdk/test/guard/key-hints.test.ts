import type { SiteView } from '@countersign/core'
import { expect, test } from 'vitest'
import { createKeyHints } from '../../src/guard/key-hints.ts'
import { createTestClock } from '../../src/testing/test-clock.ts'

const ISSUER = 'https://idp.example'
const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
const token = (header: object, iss = ISSUER) =>
  `${encode({ alg: 'ES256', ...header })}.${encode({ iss })}.AAAA`

function watching() {
  const clock = createTestClock(0)
  const issuer = { issuer: ISSUER, keys: new Map([[`${ISSUER}#a`, { kid: 'known' }]]) }
  const site = { oauthIssuer: (name: string) => (name === ISSUER ? issuer : undefined) }
  const asked: string[] = []
  const hints = createKeyHints(site as unknown as SiteView, clock, (name) => asked.push(name))
  return { clock, asked, hints }
}

test('an unknown key of a trusted issuer is reported by the name of the issuer', () => {
  const { hints, asked } = watching()
  hints.reject(token({ kid: 'new' }))
  expect(asked).toEqual([ISSUER])
})

test.each([
  ['a known key', token({ kid: 'known' })],
  ['no kid', token({})],
  ['a kid that is no text', token({ kid: 7 })],
  ['an issuer that is not trusted', token({ kid: 'new' }, 'https://evil.example')],
  ['no token', 'a.b.c'],
])('%s is not reported (control)', (_what, jwt) => {
  const { hints, asked } = watching()
  hints.reject(jwt)
  expect(asked).toEqual([])
})

test('a flood of invalid tokens is looked at once a second', async () => {
  const { hints, asked, clock } = watching()
  for (let i = 0; i < 1000; i++) hints.reject(token({ kid: `k${i}` }))
  expect(asked).toEqual([ISSUER])
  await clock.advance(1000)
  hints.reject(token({ kid: 'new' }))
  expect(asked).toHaveLength(2)
})
