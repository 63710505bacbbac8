import { randomBytes } from 'node:crypto'
import { beforeEach, describe, expect, test } from 'vitest'
import { createConsoleSessions, type SignedIn } from '../../src/keys/console-sessions.ts'
import { secretSha256 } from '../../src/keys/secret-text.ts'
import { createLogger } from '../../src/logger.ts'

const MINUTE = 60_000
const now = { ms: 0 }
const stored = new Map<string, SignedIn>()
let asked: string[] = []
let touched: number[] = []
const store = {
  async consoleSession(sha256: string) {
    asked.push(sha256)
    return stored.get(sha256)
  },
  async touchConsoleSession(_sha256: string, seenAtMs: number) {
    touched.push(seenAtMs)
  },
}
const open = () => createConsoleSessions({ store, log: createLogger('silent') }, () => now.ms)

function newSession(): string {
  const secret = randomBytes(32).toString('base64url')
  const sha256 = secretSha256(secret)
  stored.set(sha256, {
    session: {
      sha256,
      sessionId: 'session_1',
      personId: 'person_1',
      door: 'link',
      createdAtMs: 0,
      seenAtMs: 0,
      expiresAtMs: 720 * MINUTE,
      elevatedUntilMs: 5 * MINUTE,
    },
    person: {
      personId: 'person_1',
      name: 'Ada',
      roles: [],
      status: 'active',
      createdAtMs: 0,
      endedAtMs: undefined,
    },
  })
  return secret
}

beforeEach(() => {
  now.ms = 0
  stored.clear()
  asked = []
  touched = []
})

describe('sessions of the console', () => {
  test('are looked up by hash once a second, and never for text that is no secret', async () => {
    const sessions = open()
    const secret = newSession()
    for (let i = 0; i < 5; i++) expect(await sessions.find(secret, 0)).toBeDefined()
    expect(asked).toEqual([secretSha256(secret)])
    now.ms = 1000
    await sessions.find(secret, 0)
    expect(asked).toHaveLength(2)
    for (const text of ['', 'x', `${secret}x`, `${secret.slice(1)};`]) {
      expect(await sessions.find(text, 0)).toBeUndefined()
    }
    expect(asked).toHaveLength(2)
  })

  test('end at once on this node when their person is forgotten, also during a lookup', async () => {
    const sessions = open()
    const secret = newSession()
    await sessions.find(secret, 0)
    stored.clear()
    expect(await sessions.find(secret, 0)).toBeDefined()
    sessions.forget('person_1')
    expect(await sessions.find(secret, 0)).toBeUndefined()
    expect(sessions.wasGood(secret)).toBe(false)
  })

  test('are written once a minute, however often they are used', async () => {
    const sessions = open()
    const secret = newSession()
    for (let ms = 0; ms < 3 * MINUTE; ms += 100) {
      now.ms = ms
      await sessions.find(secret, ms)
    }
    expect(touched).toEqual([MINUTE, 2 * MINUTE])
    await sessions.close()
  })

  test('end after 30 minutes without use, by the stored time, and a use that was too late is not written', async () => {
    const sessions = open()
    const secret = newSession()
    expect(await sessions.find(secret, 30 * MINUTE - 1)).toBeDefined()
    touched = []
    expect(await sessions.find(secret, 30 * MINUTE)).toBeUndefined()
    expect(touched).toEqual([])
  })
})
