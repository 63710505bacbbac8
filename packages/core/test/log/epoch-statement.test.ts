import { describe, expect, test } from 'vitest'
import {
  checkEpochStatement,
  type EpochStatement,
  epochStatementText,
  findEpochPath,
  parseEpochStatement,
  signEpochStatement,
} from '../../src/log/epoch-statement.ts'
import { signHeartbeat } from '../../src/log/signed-head.ts'
import { generatePrivateKey } from '../../src/proof/private-key.ts'
import { at, EPOCH, OTHER_SITE, SITE, token } from './log-sample.ts'

const PREVIOUS = { epoch: 'fedcba9876543210', seq: 7, hash: token(7) }
const FIELDS = { site_id: SITE, epoch: EPOCH, previous: PREVIOUS, at: at(0), kid: 'feed-1' }
const key = await generatePrivateKey('Ed25519')
const otherKey = await generatePrivateKey('Ed25519')

describe('an epoch statement', () => {
  test('is signed over its own first line and the canonical JSON of all but the signature', () => {
    expect(epochStatementText(FIELDS)).toBe(
      `countersign-epoch\n{"at":"2026-11-14T12:00:00Z","epoch":"0123456789abcdef","kid":"feed-1","previous":{"epoch":"fedcba9876543210","hash":"${token(7)}","seq":7},"site_id":"shop.example"}`,
    )
  })

  test('is valid under its key after a trip through JSON', async () => {
    const statement = await signEpochStatement(FIELDS, key)
    const received = parseEpochStatement(JSON.parse(JSON.stringify(statement)))
    expect(received).toEqual(statement)
    expect(await checkEpochStatement(received as EpochStatement, key.publicKey)).toBe(true)
  })

  test.each([
    ['site', { site_id: OTHER_SITE }],
    ['epoch', { epoch: `${EPOCH}0` }],
    ['previous epoch', { previous: { ...PREVIOUS, epoch: 'aaaaaaaaaaaaaaaa' } }],
    ['previous seq', { previous: { ...PREVIOUS, seq: 8 } }],
    ['previous hash', { previous: { ...PREVIOUS, hash: token(8) } }],
    ['time', { at: at(1) }],
    ['key name', { kid: 'feed-2' }],
  ])('is invalid when its %s was changed', async (_, change) => {
    const statement = { ...(await signEpochStatement(FIELDS, key)), ...change }
    expect(parseEpochStatement(statement)).toBeDefined()
    expect(await checkEpochStatement(statement, key.publicKey)).toBe(false)
  })

  test('is invalid under another key, and with the signature of a heartbeat', async () => {
    const statement = await signEpochStatement(FIELDS, key)
    expect(await checkEpochStatement(statement, otherKey.publicKey)).toBe(false)
    const heartbeat = {
      site_id: SITE,
      epoch: EPOCH,
      seq: 7,
      hash: token(7),
      as_of: at(0),
      max_age_seconds: 60,
      kid: 'feed-1',
    }
    const { signature } = await signHeartbeat(heartbeat, key)
    expect(await checkEpochStatement({ ...statement, signature }, key.publicKey)).toBe(false)
  })

  test.each([
    ['a member more', { more: 1 }],
    ['a member more of the previous head', { previous: { ...PREVIOUS, more: 1 } }],
    ['a previous head without a hash', { previous: { epoch: PREVIOUS.epoch, seq: 7 } }],
    ['itself as the previous epoch', { previous: { ...PREVIOUS, epoch: EPOCH } }],
    ['a negative seq', { previous: { ...PREVIOUS, seq: -1 } }],
    ['a time that cannot be read', { at: 'now' }],
    ['a short signature', { signature: 'AAAA' }],
  ])('is rejected with %s', async (_, change) => {
    expect(parseEpochStatement({ ...(await signEpochStatement(FIELDS, key)), ...change })).toBeUndefined()
  })
})

describe('a path of statements', () => {
  const link = (from: string, to: string): EpochStatement => ({
    ...FIELDS,
    epoch: to,
    previous: { ...PREVIOUS, epoch: from },
    signature: 'A'.repeat(86),
  })
  const chain = [link('epoch00a', 'epoch00b'), link('epoch00b', 'epoch00c'), link('epoch00c', 'epoch00d')]

  test('leads from any epoch to any later one', () => {
    expect(findEpochPath(chain, 'epoch00a', 'epoch00d')).toEqual(chain)
    expect(findEpochPath(chain, 'epoch00b', 'epoch00c')).toEqual([chain[1]])
    expect(findEpochPath(chain, 'epoch00d', 'epoch00d')).toEqual([])
  })

  test('does not lead back, past a missing link, or round in a circle', () => {
    expect(findEpochPath(chain, 'epoch00d', 'epoch00a')).toBeUndefined()
    expect(findEpochPath([chain[0], chain[2]] as EpochStatement[], 'epoch00a', 'epoch00d')).toBeUndefined()
    expect(
      findEpochPath([link('epoch00b', 'epoch00a'), link('epoch00a', 'epoch00b')], 'epoch00c', 'epoch00b'),
    ).toBeUndefined()
  })
})
