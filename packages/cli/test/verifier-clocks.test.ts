import type { Client } from '@countersign/sdk'
import { expect, test } from 'vitest'
import { checkIssuerKeys, checkVerifierClocks, checkVerifiers } from '../src/doctor/site-checks.ts'

const look = (...differences: (number | undefined)[]) => {
  const items = differences.map((ms) => (ms === undefined ? {} : { clock_difference_ms: ms }))
  return checkVerifierClocks({ listVerifiers: async () => ({ items }) } as unknown as Client, 'shop.example')
}

test('B8: doctor names both possibilities when most verifiers disagree with the service', async () => {
  expect(await look(20_100, 20_000, 5, undefined)).toMatchObject({
    level: 'problem',
    detail: expect.stringMatching(
      /clock of the service is ahead by 20\.0 s, or the clocks of its verifiers are behind/,
    ),
  })
  expect((await look(-3000)).detail).toMatch(
    /clock of the service is behind by 3\.0 s, or the clocks of its verifiers are ahead/,
  )
})

test('one wrong clock among several, small differences and no verifiers are no problem (control arm)', async () => {
  expect(await look(3_600_000, 0, 10)).toMatchObject({ level: 'ok' })
  expect(await look(2000)).toMatchObject({ level: 'ok' })
  expect(await look(undefined)).toMatchObject({ level: 'skipped' })
  expect(await look()).toMatchObject({ level: 'skipped' })
})

test('doctor names a verifier that fails open and is gone, and how to dismiss it', async () => {
  const items = [
    { verifier_id: 'web', instance_id: 'aa11', state: 'connected', lag: 0 },
    { verifier_id: 'lost', instance_id: 'bb22', state: 'gone', fails_open: true, lag: 0 },
  ]
  const see = (shown: readonly object[]) =>
    checkVerifiers({ listVerifiers: async () => ({ items: shown }) } as unknown as Client, 'shop.example')
  expect(await see(items)).toMatchObject({
    level: 'warning',
    detail: expect.stringContaining('lost fails open'),
    fix: expect.stringContaining('countersign verifiers --dismiss bb22'),
  })
  expect(await see(items.slice(0, 1))).toMatchObject({ level: 'ok' })
})

test('doctor warns of issuers whose keys could not be fetched for an hour', async () => {
  const nowMs = Date.parse('2026-11-14T12:00:00Z')
  const see = (keys_refreshed_at: string | null, status = 'trusted') => {
    const items = [{ issuer: 'https://idp.example', status, keys_refreshed_at }]
    const client = { listIssuers: async () => ({ items }) } as unknown as Client
    return checkIssuerKeys(client, 'shop.example', nowMs)
  }
  expect(await see('2026-11-14T10:59:59Z')).toMatchObject([
    { level: 'warning', detail: expect.stringContaining('https://idp.example') },
  ])
  for (const fine of [see('2026-11-14T11:00:00Z'), see(null), see('2026-11-01T00:00:00Z', 'distrusted')])
    expect(await fine).toMatchObject([{ level: 'ok' }])
})
