import { createHash } from 'node:crypto'
import {
  checkSnapshot,
  generatePrivateKey,
  type SnapshotHead,
  type SnapshotLine,
  signSnapshot,
} from '@countersign/core'
import { beforeAll, describe, expect, test, vi } from 'vitest'
import { readSnapshot } from '../../src/feed/snapshot-reader.ts'

const HEAD = {
  type: 'head',
  site_id: 'shop.example',
  epoch: '0123456789abcdef',
  seq: 7,
  hash: 'ab'.repeat(32),
  as_of: '2026-11-14T12:00:00Z',
  max_age_seconds: 60,
  base: { seq: 0, hash: '0'.repeat(64) },
} as unknown as SnapshotHead
const LINES = [
  {
    type: 'site',
    bearer: 'on',
    holder_proof: 'optional',
    delegation: 'on',
    credential_ttl_seconds_max: null,
  },
  { type: 'credential', credential_id: 'cred_00000001', revoked_at: '2026-11-14T12:00:00Z' },
  { type: 'token', token_sha256: 'cd'.repeat(32), revoked_at: '2026-11-14T12:00:00Z' },
] as unknown as SnapshotLine[]

let key: Awaited<ReturnType<typeof generatePrivateKey>>
let whole: Uint8Array
beforeAll(async () => {
  key = await generatePrivateKey('Ed25519')
  const body = [HEAD, ...LINES].map((line) => `${JSON.stringify(line)}\n`).join('')
  const sha256 = createHash('sha256').update(body).digest('hex')
  const end = await signSnapshot(HEAD, { lines: LINES.length + 1, sha256 }, 'feed-1', key)
  whole = new TextEncoder().encode(`${body}${JSON.stringify(end)}\n`)
})

async function* pieces(...list: Uint8Array[]) {
  yield* list
}
const text = (...lines: unknown[]) =>
  new TextEncoder().encode(
    lines.map((line) => `${typeof line === 'string' ? line : JSON.stringify(line)}\n`).join(''),
  )
const read = (...list: Uint8Array[]) => readWithin(undefined, ...list)
const readWithin = (limits: Parameters<typeof readSnapshot>[2], ...list: Uint8Array[]) => {
  const added: SnapshotLine[] = []
  return readSnapshot(
    pieces(...list),
    () => ({ added, add: (line: SnapshotLine) => added.push(line) }),
    limits,
  )
}

describe('a snapshot', () => {
  test('is the same however the bytes are cut, and its end can be checked', async () => {
    for (let cut = 0; cut <= whole.length; cut++) {
      const { head, end, received, load } = await read(whole.subarray(0, cut), whole.subarray(cut))
      expect(head).toEqual(HEAD)
      expect(load.added).toEqual(LINES)
      expect(received).toEqual({ lines: end.lines, sha256: end.sha256 })
      if (cut % 100 === 0)
        expect(await checkSnapshot(head, end, received, key.publicKey)).toMatchObject({ seq: 7 })
    }
  })

  test('may come byte by byte', async () => {
    const bytes = [...whole].map((byte) => Uint8Array.of(byte))
    expect((await read(...bytes)).load.added).toEqual(LINES)
  })

  test('that was cut off anywhere is none', async () => {
    for (let length = 0; length < whole.length; length++) {
      await expect(read(whole.subarray(0, length)), `after ${length} bytes`).rejects.toThrow(SyntaxError)
    }
  })

  test('whose lines were changed on the way is invalid', async () => {
    const changed = whole.slice()
    const at = new TextDecoder().decode(whole).indexOf('cred_00000001') + 12
    changed[at] = 0x32
    const { head, end, received } = await read(changed)
    expect(await checkSnapshot(head, end, received, key.publicKey)).toBeUndefined()
  })

  test.each<[string, unknown[]]>([
    ['does not begin with its head', [LINES[0]]],
    ['has two heads', [HEAD, HEAD]],
    [
      'has an end in its middle',
      [
        HEAD,
        { type: 'end', lines: 1, sha256: 'ab'.repeat(32), kid: 'a', signature: 'A'.repeat(86) },
        LINES[0],
      ],
    ],
    ['has a line of a kind that is not known', [HEAD, { type: 'wallet', id: 1 }]],
    ['has a member that is not known', [HEAD, { ...LINES[1], extra: 1 }]],
    ['says twice what the site is', [HEAD, LINES[0], LINES[0]]],
    ['has an empty line', [HEAD, '', LINES[0]]],
    ['has a line that is no JSON', [HEAD, '{"type":']],
  ])('that %s is none', async (_, lines) => {
    const end = new TextDecoder().decode(whole).trimEnd().split('\n').at(-1)
    await expect(read(text(...lines, end))).rejects.toThrow(SyntaxError)
  })

  test('with bytes that are no UTF-8 is none', async () => {
    await expect(read(text(HEAD), Uint8Array.of(0xff, 0x0a), text(LINES[0]))).rejects.toThrow(TypeError)
  })

  test('with a line that never ends is none', async () => {
    await expect(read(new Uint8Array(1_048_577).fill(0x20))).rejects.toThrow(SyntaxError)
  })

  test('with a line that is too long is none, also when its end is in the same piece', async () => {
    await expect(read(text(HEAD, ' '.repeat(1_048_577), LINES[0]))).rejects.toThrow(
      'a line that cannot be read',
    )
  })

  test('whose lines come in many small pieces is copied a few times, and not with every piece', async () => {
    const long = new Uint8Array(1_000_000).fill(0x20)
    const bytes = [...Array(20_000).keys()].map((i) => long.subarray(i * 50, (i + 1) * 50))
    const copies = vi.spyOn(Uint8Array.prototype, 'set')
    try {
      await expect(read(text(HEAD), ...bytes)).rejects.toThrow(SyntaxError)
      const copied = copies.mock.calls.reduce((sum, [part]) => sum + part.length, 0)
      expect(copied).toBeLessThan(30_000_000)
    } finally {
      copies.mockRestore()
    }
  })
})

describe('a snapshot that never ends', () => {
  const issuerLine = {
    type: 'issuer',
    issuer: 'did:web:a.example',
    keys: [],
    scope: null,
    credential_ttl_seconds_max: null,
    status: 'trusted',
    compromised: [],
  }
  const issuerChars = JSON.stringify(issuerLine).length
  const roomy = { records: 100, bytes: 100_000, issuerLines: 100, issuerBytes: 100_000 }
  const tooLarge = expect.objectContaining({ code: 'snapshot_too_large', needsOperator: true })

  test.each([
    ['records', LINES.length + 1, []],
    ['issuerLines', 2, [issuerLine, issuerLine]],
    ['issuerBytes', 2 * issuerChars, [issuerLine, issuerLine]],
  ] as const)(
    'is given up at the limit of %s, and one of just that size is read',
    async (limit, size, more) => {
      const lines = limit === 'records' ? LINES : [LINES[0], ...more]
      const end = new TextDecoder().decode(whole).trimEnd().split('\n').at(-1)
      const { load } = await readWithin({ ...roomy, [limit]: size }, text(HEAD, ...lines, end))
      expect(load.added).toHaveLength(lines.length)
      await expect(readWithin({ ...roomy, [limit]: size - 1 }, text(HEAD, ...lines, end))).rejects.toEqual(
        tooLarge,
      )
    },
  )

  test('is given up at the limit of bytes, before it comes to an end', async () => {
    expect((await readWithin({ ...roomy, bytes: whole.length }, whole)).load.added).toEqual(LINES)
    let asked = 0
    async function* endless() {
      yield text(HEAD)
      for (; ; asked++) yield text(LINES[1])
    }
    const load = { add: () => undefined }
    await expect(
      readSnapshot(endless(), () => load, { ...roomy, records: 1e9, bytes: 10_000 }),
    ).rejects.toEqual(tooLarge)
    expect(asked).toBeLessThan(200)
  })
})
