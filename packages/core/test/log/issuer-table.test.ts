import fc from 'fast-check'
import { describe, expect, test, vi } from 'vitest'
import { IssuerTable } from '../../src/log/issuer-table.ts'
import { SiteView } from '../../src/log/view.ts'
import { runs } from '../runs.ts'
import {
  activeKey,
  at,
  createLog,
  createView,
  issuer,
  issuerState,
  msAt,
  multikey,
  type Saying,
  SITE,
  viewAfter,
} from './log-sample.ts'
import { PlainSite } from './plain-site.ts'
import { FEW, issuerLog, KEY_IDS, trustedKeys } from './random-log.ts'

const trust = (n: number, ...keys: Parameters<typeof issuerState>[1]): Saying => ({
  kind: 'issuer.trusted',
  body: issuerState(n, keys),
})
const distrust = (n: number, seconds = 0): Saying => ({
  kind: 'issuer.distrusted',
  body: { issuer: issuer(n) },
  at: at(seconds),
})
const retire = (n: number, key_id: string, seconds: number): Saying => ({
  kind: 'key.retired',
  body: { issuer: issuer(n), key_id, at: at(seconds) },
})
const compromise = (n: number, key_id: string, seconds: number): Saying => ({
  kind: 'key.compromised',
  body: { issuer: issuer(n), key_id, at: at(seconds) },
})
const findKey = (view: SiteView, n: number, id: string) =>
  view.issuer(issuer(n))?.keys.get(`${issuer(n)}#${id}`)

describe('an issuer', () => {
  test('is what was stated about it last, as a whole', async () => {
    const view = await viewAfter(
      {
        kind: 'issuer.trusted',
        body: issuerState(1, [activeKey('key-1', 1)], {
          scope: ['a', 'b'] as never,
          credential_ttl_seconds_max: 60,
        }),
      },
      { kind: 'issuer.trusted', body: issuerState(1, [activeKey('key-2', 2)], { scope: ['a'] as never }) },
    )
    expect(view.issuer(issuer(1))).toMatchObject({
      issuer: issuer(1),
      scope: new Set(['a']),
      credentialTtlSecondsMax: undefined,
    })
    expect([...(view.issuer(issuer(1))?.keys.keys() ?? [])]).toEqual([`${issuer(1)}#key-2`])
    expect(view.issuer(issuer(2))).toBeUndefined()
  })

  test('is gone when it is distrusted, since the first time that was said, and back when it is trusted', async () => {
    const gone = await viewAfter(trust(1, activeKey('key-1', 1)), distrust(1, 7), distrust(1, 9))
    expect(gone.issuer(issuer(1))).toBeUndefined()
    expect(gone.issuerRevocation(issuer(1))).toEqual({ by: 'issuer', sinceMs: msAt(7) })
    const back = await viewAfter(
      trust(1, activeKey('key-1', 1)),
      distrust(1, 7),
      trust(1, activeKey('key-1', 1)),
    )
    expect(back.issuer(issuer(1))).toBeDefined()
    expect(back.issuerRevocation(issuer(1))).toBeUndefined()
  })

  test('is unknown, not revoked, when it was never trusted', async () => {
    expect((await viewAfter(trust(1))).issuerRevocation(issuer(2))).toBeUndefined()
  })

  test('that other code holds does not change', async () => {
    const entries = await createLog([trust(1, activeKey('key-1', 1)), compromise(1, 'key-1', 5)])
    const view = createView(entries.slice(0, 1))
    const held = view.issuer(issuer(1))
    for (const entry of entries) view.apply(entry)
    expect(held?.keys.get(`${issuer(1)}#key-1`)?.status).toBe('active')
    expect(findKey(view, 1, 'key-1')?.status).toBe('compromised')
  })
})

describe('a retired key', () => {
  test('is retired since the moment named', async () => {
    expect(
      findKey(await viewAfter(trust(1, activeKey('key-1', 1)), retire(1, 'key-1', 5)), 1, 'key-1'),
    ).toMatchObject({
      status: 'retired',
      changedAtMs: msAt(5),
    })
  })

  test.each([
    [5, 9],
    [9, 5],
  ])('retired at %d s and again at %d s, is so since the earlier', async (first, second) => {
    const view = await viewAfter(
      trust(1, activeKey('key-1', 1)),
      retire(1, 'key-1', first),
      retire(1, 'key-1', second),
    )
    expect(findKey(view, 1, 'key-1')?.changedAtMs).toBe(msAt(5))
  })

  test('comes back when the whole issuer is stated again with it, and may be retired again later', async () => {
    const back = [trust(1, activeKey('key-1', 1)), retire(1, 'key-1', 5), trust(1, activeKey('key-1', 1))]
    expect(findKey(await viewAfter(...back), 1, 'key-1')).toMatchObject({
      status: 'active',
      changedAtMs: undefined,
    })
    expect(findKey(await viewAfter(...back, retire(1, 'key-1', 9)), 1, 'key-1')).toMatchObject({
      status: 'retired',
      changedAtMs: msAt(9),
    })
  })

  test('is no revocation', async () => {
    expect(
      (await viewAfter(trust(1, activeKey('key-1', 1)), retire(1, 'key-1', 5))).keyRevocation(
        issuer(1),
        'key-1',
      ),
    ).toBeUndefined()
  })
})

describe('a compromised key', () => {
  const compromised = { status: 'compromised', changedAtMs: msAt(5) }
  const start = [trust(1, activeKey('key-1', 1)), compromise(1, 'key-1', 5)]

  test.each([
    ['trusted again under its name', [trust(1, activeKey('key-1', 1))], 1, 'key-1'],
    ['trusted again with other material under its name', [trust(1, activeKey('key-1', 2))], 1, 'key-1'],
    ['trusted again under another name', [trust(1, activeKey('key-2', 1))], 1, 'key-2'],
    ['distrusted and trusted again', [distrust(1), trust(1, activeKey('key-1', 1))], 1, 'key-1'],
    ['dropped and listed again', [trust(1), trust(1, activeKey('key-1', 1))], 1, 'key-1'],
    ['retired', [retire(1, 'key-1', 1)], 1, 'key-1'],
    [
      'called retired in a new state',
      [trust(1, { id: 'key-1', key: multikey(1), status: 'retired', retired_at: at(9) })],
      1,
      'key-1',
    ],
    ['compromised once more, later', [compromise(1, 'key-1', 9)], 1, 'key-1'],
    ['listed by another issuer', [trust(2, activeKey('other', 1))], 2, 'other'],
    [
      'given a new name, and the new name new material',
      [trust(1, activeKey('key-2', 1)), trust(1, activeKey('key-2', 3))],
      1,
      'key-2',
    ],
  ] as const)('stays compromised when it is %s', async (_, then, n, id) => {
    const view = await viewAfter(...start, ...then)
    expect(findKey(view, n, id)).toMatchObject(compromised)
    expect(view.keyRevocation(issuer(n), id)).toEqual({ by: 'key', sinceMs: msAt(5) })
  })

  test('takes along the same material that other issuers list already, and whatever shares a name with that', async () => {
    const view = await viewAfter(
      trust(2, activeKey('a', 1)),
      trust(1, activeKey('key-1', 1), activeKey('key-2', 2)),
      compromise(1, 'key-1', 5),
    )
    expect(findKey(view, 2, 'a')).toMatchObject(compromised)
    expect(findKey(view, 1, 'key-2')?.status).toBe('active')
  })

  test('is known before its issuer is, and of an issuer that is distrusted', async () => {
    expect(
      findKey(await viewAfter(compromise(1, 'key-1', 5), trust(1, activeKey('key-1', 1))), 1, 'key-1'),
    ).toMatchObject(compromised)
    const distrusted = [trust(1, activeKey('key-1', 1)), distrust(1), compromise(1, 'key-1', 5)]
    expect((await viewAfter(...distrusted)).keyRevocation(issuer(1), 'key-1')).toEqual({
      by: 'key',
      sinceMs: msAt(5),
    })
    expect(
      findKey(await viewAfter(...distrusted, trust(1, activeKey('other', 1))), 1, 'other'),
    ).toMatchObject(compromised)
  })

  test('is so since the time of the entry when a state calls it so', async () => {
    const view = await viewAfter(
      { ...trust(1, { id: 'key-1', key: multikey(1), status: 'compromised' }), at: at(8) } as Saying,
      trust(1, activeKey('key-1', 1)),
    )
    expect(findKey(view, 1, 'key-1')).toMatchObject({ status: 'compromised', changedAtMs: msAt(8) })
  })

  test('leaves keys alone that share neither name nor material', async () => {
    const view = await viewAfter(...start, trust(1, activeKey('key-2', 2)), trust(2, activeKey('key-1', 3)))
    expect(findKey(view, 1, 'key-2')?.status).toBe('active')
    expect(findKey(view, 2, 'key-1')?.status).toBe('active')
  })

  test('is final, by name and by material, whatever a log says after it', async () => {
    await fc.assert(
      fc.asyncProperty(issuerLog, async (sayings) => {
        const view = new SiteView({ siteId: SITE })
        const names = new Set<string>()
        const materials = new Set<string>()
        for (const entry of await createLog(sayings)) {
          view.apply(entry)
          for (const [method, { key, status }] of trustedKeys(view)) {
            if (names.has(method) || materials.has(key.multikey)) expect(status).toBe('compromised')
            if (status !== 'compromised') continue
            names.add(method)
            materials.add(key.multikey)
          }
          for (const n of FEW) {
            for (const id of KEY_IDS) {
              const method = `${issuer(n)}#${id}`
              if (names.has(method)) expect(view.keyRevocation(issuer(n), id)).toBeDefined()
              if (view.keyRevocation(issuer(n), id)) names.add(method)
            }
          }
        }
      }),
      { numRuns: runs(200) },
    )
  })

  test('is what the plain reading of the whole log says', async () => {
    await fc.assert(
      fc.asyncProperty(issuerLog, async (sayings) => {
        const plain = new PlainSite()
        for (const saying of sayings) plain.say(saying)
        const view = createView(await createLog(sayings))
        const { names, keys } = plain.compromised()
        for (const n of FEW) {
          const { state, isTrusted, distrustedMs } = plain.issuerState(issuer(n))
          expect(view.issuer(issuer(n)) !== undefined).toBe(isTrusted)
          expect(view.issuerRevocation(issuer(n))?.sinceMs).toBe(isTrusted ? undefined : distrustedMs)
          for (const id of KEY_IDS)
            expect(view.keyRevocation(issuer(n), id)?.sinceMs).toBe(names.get(`${issuer(n)}#${id}`))
          if (!isTrusted) continue
          for (const { id, key, status } of state?.keys ?? []) {
            const isCompromised = names.has(`${issuer(n)}#${id}`) || keys.has(key)
            expect(findKey(view, n, id)?.status).toBe(isCompromised ? 'compromised' : status)
          }
        }
      }),
      { numRuns: runs(200) },
    )
  })
})

describe('the object of a key', () => {
  test.each([
    ['the issuer is stated again without a change', [trust(1, activeKey('key-1', 1))], true],
    ['another key of the issuer changes', [trust(1, activeKey('key-1', 1), activeKey('key-2', 2))], true],
    ['it is retired', [retire(1, 'key-1', 5)], true],
    ['it is compromised', [compromise(1, 'key-1', 5)], true],
    ['its material changes', [trust(1, activeKey('key-1', 2))], false],
    ['it goes and comes back', [trust(1), trust(1, activeKey('key-1', 1))], false],
    ['its issuer is distrusted and trusted again', [distrust(1), trust(1, activeKey('key-1', 1))], false],
  ] as const)('stays or is made again as it must when %s', async (_, then, isKept) => {
    const entries = await createLog([trust(1, activeKey('key-1', 1)), ...then])
    const view = createView(entries.slice(0, 1))
    const before = findKey(view, 1, 'key-1')?.key
    for (const entry of entries) view.apply(entry)
    const after = findKey(view, 1, 'key-1')?.key
    expect(before).toBeDefined()
    expect(after).toBeDefined()
    expect(after === before).toBe(isKept)
  })
})

describe('the cost of a compromised key', () => {
  test('does not grow with the number of issuers, so unsigned lines cannot make a guard slow', () => {
    const table = new IssuerTable()
    for (let n = 0; n < 50; n++) table.trust(issuerState(n, [activeKey('key-1', 1)]), msAt(0))
    const walks = (['keys', 'values', 'entries', 'forEach', Symbol.iterator] as const).map((walk) =>
      vi.spyOn(table.rows, walk),
    )
    for (let seconds = 20; seconds > 0; seconds--) {
      table.compromise(issuer(1), `key-${seconds}`, msAt(seconds), multikey(1))
      table.trust(issuerState(2, [{ id: 'key-1', key: multikey(2), status: 'compromised' }]), msAt(seconds))
    }
    for (const walk of walks) expect(walk).not.toHaveBeenCalled()
    // Each issuer is updated on look-up.
    for (const n of [0, 49])
      expect(table.trusted(issuer(n))?.keys.get(`${issuer(n)}#key-1`)).toMatchObject({
        changedAtMs: msAt(1),
      })
    expect(table.keyRevocation(issuer(30), 'key-1')).toEqual({ by: 'key', sinceMs: msAt(1) })
    expect(table.compromisedMethods.has(`${issuer(31)}#key-1`)).toBe(false)
    table.applyCompromisedKeys()
    expect(table.compromisedMethods.get(`${issuer(31)}#key-1`)).toBe(msAt(1))
  })
})
