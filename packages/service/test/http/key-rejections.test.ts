import type { SiteId } from '@countersign/core'
import { describe, expect, test } from 'vitest'
import type { Caller } from '../../src/answer.ts'
import { createKeyRejections } from '../../src/http/key-rejections.ts'
import { createLogger } from '../../src/logger.ts'
import type { NewAuditRow } from '../../src/store/operations/audit.ts'

const keyOf = (siteId: string): Caller => ({
  kind: 'site',
  siteId: siteId as SiteId,
  keyId: `key_${siteId}`,
  permissions: [],
  address: '',
})

function open() {
  const rows: NewAuditRow[] = []
  const rejections = createKeyRejections(
    { audit: async (row) => void rows.push(row) },
    createLogger('silent'),
  )
  const note = (caller: Caller | undefined, nowMs: number) =>
    rejections.record({
      code: caller === undefined ? 'api_key_invalid' : 'api_key_forbidden',
      endpoint: 'create_key',
      caller,
      requestId: 'r',
      nowMs,
    })
  const countOf = (siteId: string | null) => rows.filter((row) => row.siteId === siteId).length
  return { rejections, note, countOf }
}

describe('the audit of refused keys', () => {
  test('is not filled by a caller who guesses keys all day', async () => {
    const { rejections, note, countOf } = open()
    for (let ms = 0; ms < 3_600_000; ms += 100) note(undefined, ms)
    await rejections.flush()
    expect(countOf(null)).toBe(60 * 30)
  })
  test('does not lose what a key of a site tries because callers guess keys, or because another site does', async () => {
    const { rejections, note, countOf } = open()
    for (let i = 0; i < 1000; i++) {
      note(undefined, 1000)
      note(keyOf('loud.example'), 1000)
    }
    note(keyOf('a.example'), 1001)
    note(keyOf('a.example'), 1002)
    await rejections.flush()
    expect([countOf(null), countOf('loud.example'), countOf('a.example')]).toEqual([30, 30, 2])
  })
})
