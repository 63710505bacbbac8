import { describe, expect, it } from 'vitest'
import type { IdempotencyKey } from '../../src/store/operations/idempotency.ts'
import { DAY, NOW, sha256 } from './fixtures.ts'
import type { TheStore } from './the-store.ts'

const TRIES = 300

export function onceSuite(store: TheStore): void {
  const key = (fields: Partial<IdempotencyKey> = {}): IdempotencyKey => ({
    owner: 'key_1 POST /x',
    sha256: sha256(),
    requestSha256: sha256('request'),
    ...fields,
  })

  describe('what may be used once', () => {
    it(`is used by exactly one of ${TRIES} who try at the same time`, async () => {
      const name = sha256()
      const answers = await Promise.all(
        Array.from({ length: TRIES }, () => store().consumeOnce('state', name, NOW + DAY)),
      )
      expect(answers.filter(Boolean)).toHaveLength(1)
      expect(await store().consumeOnce('state', name, NOW + DAY)).toBe(false)
      expect(await store().consumeOnce('code', name, NOW + DAY)).toBe(true)
    })

    it('control: would be used by several if it were first looked for and then written', async () => {
      const name = sha256()
      const answers = await Promise.all(
        Array.from({ length: TRIES }, async () => {
          if ((await store().secret(name)) !== undefined) return false
          await store().putSecret(name, 'used')
          return true
        }),
      )
      expect(answers.filter(Boolean).length).toBeGreaterThan(1)
    })

    it(`lets exactly one of ${TRIES} requests with the same idempotency key begin`, async () => {
      const same = key()
      const states = await Promise.all(
        Array.from({ length: TRIES }, () => store().beginIdempotent(same, NOW + DAY, NOW)),
      )
      expect(states.filter((state) => state === 'begun')).toHaveLength(1)
      expect(states.filter((state) => state === 'running')).toHaveLength(TRIES - 1)
    })

    it('gives the kept answer to a repeated request, and only to the same request', async () => {
      const asked = key()
      await store().beginIdempotent(asked, NOW + DAY, NOW)
      await store().finishIdempotent(asked, { kind: 'answer', sealed: 'sealed answer' })
      expect(await store().beginIdempotent(asked, NOW + DAY, NOW + 1)).toEqual({
        kind: 'answer',
        sealed: 'sealed answer',
      })
      expect(await store().beginIdempotent({ ...asked, requestSha256: sha256() }, NOW + DAY, NOW + 1)).toBe(
        'other_request',
      )
      expect(await store().beginIdempotent({ ...asked, owner: 'key_2 POST /x' }, NOW + DAY, NOW + 1)).toBe(
        'begun',
      )
    })

    it('keeps of a secret only that there was one', async () => {
      const asked = key()
      await store().beginIdempotent(asked, NOW + DAY, NOW)
      await store().finishIdempotent(asked, { kind: 'secret' })
      expect(await store().beginIdempotent(asked, NOW + DAY, NOW + 1)).toEqual({ kind: 'secret' })
    })

    it('may be used again when the request came to nothing, when it has ended, and when its process has died', async () => {
      const abandoned = key()
      await store().beginIdempotent(abandoned, NOW + DAY, NOW)
      await store().abandonIdempotent(abandoned, true)
      expect(await store().beginIdempotent(abandoned, NOW + DAY, NOW)).toBe('begun')

      const ended = key()
      await store().beginIdempotent(ended, NOW + 10, NOW)
      await store().finishIdempotent(ended, { kind: 'secret' })
      expect(await store().beginIdempotent({ ...ended, requestSha256: sha256() }, NOW + DAY, NOW + 10)).toBe(
        'begun',
      )

      const orphan = key()
      await store().beginIdempotent(orphan, NOW + DAY, NOW)
      expect(await store().beginIdempotent(orphan, NOW + DAY, NOW + 59_999)).toBe('running')
      expect(await store().beginIdempotent(orphan, NOW + DAY, NOW + 60_000)).toBe('begun_again')
      expect(await store().beginIdempotent(orphan, NOW + DAY, NOW + 60_001)).toBe('running')
      const other = { ...orphan, requestSha256: sha256() }
      expect(await store().beginIdempotent(other, NOW + DAY, NOW + 60_002)).toBe('other_request')
      expect(await store().beginIdempotent(other, NOW + DAY, NOW + 120_000)).toBe('begun')
    })

    it('remembers that the outcome of a request is unknown, also when its repetition is rejected', async () => {
      const asked = key()
      await store().beginIdempotent(asked, NOW + DAY, NOW)
      for (const isOutcomeKnown of [false, true, false]) {
        await store().abandonIdempotent(asked, isOutcomeKnown)
        expect(await store().beginIdempotent(asked, NOW + DAY, NOW)).toBe('begun_again')
      }
      await store().finishIdempotent(asked, { kind: 'secret' })
      expect(await store().beginIdempotent(asked, NOW + DAY, NOW)).toEqual({ kind: 'secret' })
    })

    it('does not give up an answer that was kept already', async () => {
      const asked = key()
      await store().beginIdempotent(asked, NOW + DAY, NOW)
      await store().finishIdempotent(asked, { kind: 'secret' })
      for (const isOutcomeKnown of [true, false]) await store().abandonIdempotent(asked, isOutcomeKnown)
      expect(await store().beginIdempotent(asked, NOW + DAY, NOW)).toEqual({ kind: 'secret' })
    })
  })
}
