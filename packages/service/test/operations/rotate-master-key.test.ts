import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { SiteId } from '@countersign/core'
import Database from 'better-sqlite3'
import postgres from 'postgres'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { findScript } from '../../../../test/process/scripts.ts'
import type { Config } from '../../src/config.ts'
import { openServiceKeys, type ServiceKeys } from '../../src/keys/service-keys.ts'
import { answerPurpose, pairwisePurpose } from '../../src/sealing/purposes.ts'
import { createSealer, OtherMasterKey, type Sealer } from '../../src/sealing/sealer.ts'
import { StoreUnavailable } from '../../src/store/errors.ts'
import { resealStore } from '../../src/store/maintenance.ts'
import { openStore } from '../../src/store/open.ts'
import type { IdempotencyKey } from '../../src/store/operations/idempotency.ts'
import type { Store } from '../../src/store/store.ts'
import { context, failingAct, newSite, quietLog, sha256 } from '../store/fixtures.ts'
import { type PostgresServer, startPostgres } from '../store/postgres-server.ts'
import { run } from './terminal.ts'

const BASE_URL = 'https://auth.example'
const TEST_MS_MAX = 300_000
const onFatal = (fault: Error) => {
  throw fault
}
let server: PostgresServer
let folder: string
beforeAll(async () => {
  server = await startPostgres()
})
afterAll(() => server?.stop())
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'countersign-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const hex = (key: Uint8Array) => Buffer.from(key).toString('hex')

/** A store that has something sealed of every kind, and its two master keys. */
interface House {
  readonly place: Config['store']
  readonly old: Uint8Array
  readonly fresh: Uint8Array
  /** With the settings of the service, unless told otherwise. */
  command(argv: readonly string[], env?: Readonly<Record<string, string>>): ReturnType<typeof run>
  rotate(env?: Readonly<Record<string, string>>): ReturnType<typeof run>
  /**
   * What is inside the sealed texts, opened with that key. Rejects when one of them does not open.
   */
  inside(key: Uint8Array): Promise<object>
  at<T>(work: (store: Store) => Promise<T>, masterKey?: Uint8Array): Promise<T>
}

const WEBHOOK = 'wh_1'
const STATE = 'f'.repeat(64)
const SITES = ['a.example', 'b.example'] as SiteId[]
const ANSWERS: readonly IdempotencyKey[] = ['1', '2', '3'].map((n) => ({
  owner: `key:key_${n} POST /api/sites`,
  sha256: n.repeat(64),
  requestSha256: '0'.repeat(64),
}))

async function house(kind: 'SQLite' | 'PostgreSQL'): Promise<House> {
  const place: Config['store'] =
    kind === 'SQLite'
      ? { kind: 'sqlite', file: join(folder, 'countersign.db') }
      : { kind: 'postgres', url: await server.createTables() }
  const [old, fresh] = [randomBytes(32), randomBytes(32)]
  const settings = {
    ...(place.kind === 'sqlite' ? { COUNTERSIGN_DATA_DIR: folder } : { COUNTERSIGN_DATABASE_URL: place.url }),
    COUNTERSIGN_MASTER_KEY: hex(old),
  }
  const at: House['at'] = async (work, masterKey = old) => {
    const store = await openStore(place, { masterKey, log: quietLog, onFatal })
    try {
      return await work(store)
    } finally {
      await store.close()
    }
  }
  await at(async (store) => {
    const sealer = createSealer(old)
    await openServiceKeys(store, old, BASE_URL, Date.now())
    for (const siteId of SITES) {
      await store.createSite(
        { ...newSite(), siteId, pairwiseSecretSealed: sealer.seal(pairwisePurpose(siteId), `of ${siteId}`) },
        context(),
      )
    }
    for (const key of ANSWERS) {
      await store.beginIdempotent(key, Date.now() + 3_600_000, Date.now())
      await store.finishIdempotent(key, {
        kind: 'answer',
        sealed: sealer.seal(answerPurpose(key), `answer ${key.sha256}`),
      })
    }
    const [siteId] = SITES as [SiteId]
    const webhook = { webhookId: WEBHOOK, siteId, url: 'https://hooks.example/in', kinds: undefined }
    const secretOf = (text: string) => sealer.seal(`webhook:${siteId}:${WEBHOOK}`, text)
    await store.createWebhook({ ...webhook, secretSealed: secretOf('first') }, 5, context())
    await store.rotateWebhookSecret(siteId, WEBHOOK, secretOf('second'), Date.now() + 3_600_000, context())
    await store.createSignIn({
      stateSha256: STATE,
      siteId,
      returnUrl: 'https://a.example/back',
      requestedScope: undefined,
      clientStateSealed: sealer.seal(`sign-in:${STATE}`, 'state of the integration'),
      codeChallenge: 'x',
      expiresAtMs: Date.now() + 3_600_000,
    })
  })
  const command: House['command'] = (argv, env = {}) => run(argv, { ...settings, ...env })
  return {
    place,
    old,
    fresh,
    command,
    rotate: (env = {}) => command(['rotate-master-key'], { COUNTERSIGN_MASTER_KEY_NEW: hex(fresh), ...env }),
    inside: async (key) => ({
      ...(await at((store) => insideOf(store, key), key)),
      ...(await rawInside(place, createSealer(key))),
    }),
    at,
  }
}

async function insideOf(store: Store, key: Uint8Array): Promise<object> {
  const sealer = createSealer(key)
  const keys = await openServiceKeys(store, key, BASE_URL, Date.now())
  return {
    ...publicOf(keys),
    sites: await Promise.all(
      SITES.map(async (id) =>
        sealer.open(pairwisePurpose(id), (await store.site(id))?.pairwiseSecretSealed ?? ''),
      ),
    ),
    answers: await Promise.all(ANSWERS.map((each) => keptAnswer(store, sealer, each))),
  }
}

async function keptAnswer(store: Store, sealer: Sealer, key: IdempotencyKey): Promise<string> {
  const kept = await store.beginIdempotent(key, Date.now() + 1000, Date.now())
  return typeof kept === 'object' && kept.kind === 'answer'
    ? sealer.open(answerPurpose(key), kept.sealed)
    : String(kept)
}

/** What no verb shows as it lies there. */
async function rawInside(place: Config['store'], sealer: Sealer): Promise<object> {
  const [webhook] = await ask(place, 'SELECT secrets FROM webhooks')
  const [signIn] = await ask(place, 'SELECT client_state_sealed AS sealed FROM sign_ins')
  const secrets = JSON.parse(webhook?.secrets ?? '[]') as { sealed: string; untilMs: number | null }[]
  return {
    webhook: secrets.map(({ sealed, untilMs }) => [
      sealer.open(`webhook:${SITES[0]}:${WEBHOOK}`, sealed),
      untilMs,
    ]),
    signIn: sealer.open(`sign-in:${STATE}`, signIn?.sealed ?? ''),
  }
}

/** Asks the database itself. */
async function ask(place: Config['store'], statement: string): Promise<readonly Record<string, string>[]> {
  if (place.kind === 'sqlite') {
    const db = new Database(place.file)
    try {
      const prepared = db.prepare(statement)
      return prepared.reader ? (prepared.all() as Record<string, string>[]) : (prepared.run(), [])
    } finally {
      db.close()
    }
  }
  const sql = postgres(place.url, { max: 1, onnotice: () => {} })
  try {
    return (await sql.unsafe(statement)) as unknown as Record<string, string>[]
  } finally {
    await sql.end()
  }
}

const publicOf = ({ issuerKeys, feedKeys }: ServiceKeys) => ({
  issuer: issuerKeys.map(({ id }) => id),
  feed: feedKeys.map(({ kid }) => kid),
})

describe.each(['SQLite', 'PostgreSQL'] as const)('rotate-master-key on %s', (kind) => {
  const tags = kind === 'SQLite' ? [] : 'long'
  test('seals everything again: the new key opens what the old one did, and the old one opens nothing', {
    tags,
    timeout: TEST_MS_MAX,
  }, async () => {
    const { old, fresh, rotate, inside, at, command } = await house(kind)
    const before = await inside(old)
    const { code, said, noted } = await rotate()
    expect(code).toBe(0)
    const names = [createSealer(fresh).keyName, createSealer(old).keyName]
    // Four keys and statements of the service, the MAC key, the seal of the master key, two sites,
    // three answers, two secrets of a webhook, one sign-in.
    expect(said).toBe(`Sealed again under master key ${names[0]}, before ${names[1]}: 14 texts.`)
    expect(noted).toMatch(/Put the new key where the old one was.*Keep the old one/)
    expect(said + noted).not.toMatch(new RegExp(`${hex(old)}|${hex(fresh)}`))
    expect(await inside(fresh)).toEqual(before)
    await expect(inside(old)).rejects.toThrow(OtherMasterKey)
    await expect(inside(old)).rejects.toThrow(
      `its name is ${names[0]}, that of the configured one ${names[1]}): set COUNTERSIGN_MASTER_KEY or COUNTERSIGN_MASTER_KEY_FILE`,
    )
    const [row] = await at((store) => store.auditRows(null, { after: undefined, limit: 1 }), fresh)
    expect(row).toMatchObject({
      action: 'master_key.rotate',
      target: names[0],
      detail: { from: names[1], texts: 14, outcome: 'done' },
      context: { actor: 'operator' },
    })
    // What was said of a wrong key, a command says as well.
    const refused = await command(['rotate-issuer-key'], { COUNTERSIGN_BASE_URL: BASE_URL })
    expect(refused).toMatchObject({
      code: 1,
      noted: expect.stringContaining('sealed under another master key'),
    })
    if (kind === 'SQLite') expect(statSync(join(folder, 'countersign.db')).mode & 0o777).toBe(0o600)
  })

  test('refuses when the old key is not the one of the store, and changes nothing', {
    tags: 'long',
    timeout: TEST_MS_MAX,
  }, async () => {
    const { old, rotate, inside, at } = await house(kind)
    const before = await inside(old)
    const { code, noted } = await rotate({ COUNTERSIGN_MASTER_KEY: hex(randomBytes(32)) })
    expect(code).toBe(1)
    expect(noted).toMatch(/nothing was changed.*\(secrets mac-key\).*sealed under another master key/)
    expect(await inside(old)).toEqual(before)
    expect(await at((store) => store.auditRows(null, { after: undefined, limit: 10 }))).toEqual([])
  })

  test('refuses when a single text does not open, and changes nothing', {
    tags: 'long',
    timeout: TEST_MS_MAX,
  }, async () => {
    const { old, fresh, rotate, inside, at } = await house(kind)
    const before = await inside(old)
    const last = ANSWERS[2] as IdempotencyKey
    const sealed = createSealer(old).seal(answerPurpose(last), `answer ${last.sha256}`)
    const damaged = sealed.slice(0, -4) + (sealed.endsWith('AAAA') ? 'BBBB' : 'AAAA')
    await at((store) => store.finishIdempotent(last, { kind: 'answer', sealed: damaged }))
    const { code, noted } = await rotate()
    expect(code).toBe(1)
    expect(noted).toContain(`(idempotency_keys ${last.owner} ${last.sha256}): sealed text does not open`)
    await at((store) => store.finishIdempotent(last, { kind: 'answer', sealed }))
    expect(await inside(old)).toEqual(before)
    expect(await rotate()).toMatchObject({ code: 0 })
    expect(await inside(fresh)).toEqual(before)
  })

  test('changes nothing when its audit row cannot be written', {
    tags: 'long',
    timeout: TEST_MS_MAX,
  }, async () => {
    const { place, old, fresh, inside } = await house(kind)
    const before = await inside(old)
    const [from, to] = [createSealer(old), createSealer(fresh)]
    const change = {
      from: from.keyName,
      reseal: (purpose: string, sealed: string) => to.seal(purpose, from.open(purpose, sealed)),
      masterKeySeal: to.seal('master-key', to.keyName),
    }
    await expect(resealStore(place, { ...change, context: failingAct() })).rejects.toThrow()
    expect(await inside(old)).toEqual(before)
    expect(await resealStore(place, { ...change, context: context() })).toBe(14)
    expect(await inside(fresh)).toEqual(before)
  })

  test('refuses when something is sealed that it does not know of, and changes nothing', {
    tags: 'long',
    timeout: TEST_MS_MAX,
  }, async () => {
    const { place, old, rotate, inside } = await house(kind)
    const before = await inside(old)
    await ask(place, `UPDATE webhooks SET url = '${createSealer(old).seal('forgotten', 'x')}'`)
    expect(await rotate()).toMatchObject({
      code: 1,
      noted: expect.stringContaining('webhooks.url holds sealed text but is not a listed sealed column'),
    })
    expect(await inside(old)).toEqual(before)
  })

  test('killed before the end, it has done nothing: the old key still counts', {
    tags: 'long',
    timeout: TEST_MS_MAX,
  }, async () => {
    const { place, old, fresh, rotate, inside } = await house(kind)
    const before = await inside(old)
    // The first text, one in the middle, and the last one.
    for (const texts of [0, 5, 10]) {
      const script = fileURLToPath(findScript(new URL('./half-way-process.ts', import.meta.url)))
      const argv = [
        '--conditions=countersign-source',
        '--no-warnings',
        script,
        JSON.stringify(place),
        hex(old),
        String(texts),
      ]
      const child = spawn(process.execPath, argv, { stdio: ['ignore', 'pipe', 'inherit'] })
      await once(child.stdout, 'data')
      child.kill('SIGKILL')
      await once(child, 'close')
      expect(await inside(old)).toEqual(before)
    }
    expect(await rotate()).toMatchObject({ code: 0 })
    expect(await inside(fresh)).toEqual(before)
  })

  test('can be done again and again', { tags: 'long', timeout: TEST_MS_MAX }, async () => {
    const { old, fresh, rotate, inside } = await house(kind)
    const before = await inside(old)
    const third = randomBytes(32)
    expect(await rotate()).toMatchObject({ code: 0 })
    expect(
      await rotate({ COUNTERSIGN_MASTER_KEY: hex(fresh), COUNTERSIGN_MASTER_KEY_NEW: hex(third) }),
    ).toMatchObject({ code: 0 })
    expect(await inside(third)).toEqual(before)
  })
})

describe('the new key', () => {
  test('may be in a file, for its owner only', async () => {
    const { fresh, command, inside } = await house('SQLite')
    const file = join(folder, 'new.key')
    const env = { COUNTERSIGN_MASTER_KEY_NEW_FILE: file }
    expect(await command(['rotate-master-key'], env)).toMatchObject({
      code: 2,
      noted: expect.stringContaining(`there is no file ${file}`),
    })
    writeFileSync(file, `${hex(fresh)}\n`, { mode: 0o644 })
    expect(await command(['rotate-master-key'], env)).toMatchObject({
      code: 2,
      noted: expect.stringContaining('chmod 600'),
    })
    rmSync(file)
    writeFileSync(file, `${hex(fresh)}\n`, { mode: 0o600 })
    expect(await command(['rotate-master-key'], env)).toMatchObject({ code: 0 })
    await inside(fresh)
  })

  test('must be there, once, whole, another one, and not on the command line', async () => {
    const { old, fresh, command, rotate } = await house('SQLite')
    const wrong = [
      [await command(['rotate-master-key']), /there is no new master key; set COUNTERSIGN_MASTER_KEY_NEW or/],
      [await rotate({ COUNTERSIGN_MASTER_KEY_NEW_FILE: '/nowhere' }), /both set/],
      [
        await rotate({ COUNTERSIGN_MASTER_KEY_NEW: 'short' }),
        /COUNTERSIGN_MASTER_KEY_NEW must hold 32 random bytes/,
      ],
      [await rotate({ COUNTERSIGN_MASTER_KEY_NEW: hex(old) }), /the new master key is the old one/],
      [
        await command(['rotate-master-key', '--master-key-new', hex(fresh)]),
        /--master-key-new is neither an option of this command nor a setting/,
      ],
      [await rotate({ COUNTERSIGN_MASTER_KEY: '' }), /COUNTERSIGN_MASTER_KEY must hold/],
    ] as const
    for (const [{ code, said, noted }, says] of wrong) {
      expect([code, said]).toEqual([2, ''])
      expect(noted).toMatch(says)
      expect(noted).not.toMatch(new RegExp(`${hex(old)}|${hex(fresh)}`))
    }
  })

  test('is not taken while a service has the embedded store open, nor makes a store', {
    tags: 'long',
  }, async () => {
    const { rotate, at, old, inside } = await house('SQLite')
    await at(async () =>
      expect(await rotate()).toMatchObject({
        code: 1,
        noted: expect.stringContaining('is open in this process'),
      }),
    )
    await inside(old)
    const empty = join(folder, 'empty')
    expect(await rotate({ COUNTERSIGN_DATA_DIR: empty })).toMatchObject({
      code: 1,
      noted: expect.stringContaining('--data-dir'),
    })
  })
})

describe('a node on PostgreSQL that still has the old key', () => {
  test('can write nothing sealed any more, and says why; with the new key it could', {
    tags: 'long',
    timeout: TEST_MS_MAX,
  }, async () => {
    const { old, fresh, rotate, at } = await house('PostgreSQL')
    await at(async (store) => {
      const [then, now] = [createSealer(old), createSealer(fresh)]
      const keys = await openServiceKeys(store, old, BASE_URL, Date.now())
      const site = (sealer: Sealer) => {
        const made = newSite()
        return store.createSite(
          { ...made, pairwiseSecretSealed: sealer.seal(pairwisePurpose(made.siteId), 'x') },
          context(),
        )
      }
      const answer = async (sealer: Sealer) => {
        const key = { owner: 'key:key_4 POST /', sha256: sha256(), requestSha256: '0'.repeat(64) }
        await store.beginIdempotent(key, Date.now() + 3_600_000, Date.now())
        await store.finishIdempotent(key, { kind: 'answer', sealed: sealer.seal(answerPurpose(key), 'x') })
      }
      const webhook = (sealer: Sealer) =>
        store.rotateWebhookSecret(
          SITES[0] as SiteId,
          WEBHOOK,
          sealer.seal(`webhook:${SITES[0]}:${WEBHOOK}`, 'x'),
          Date.now(),
          context(),
        )
      const signIn = (sealer: Sealer) => {
        const stateSha256 = sha256()
        const clientStateSealed = sealer.seal(`sign-in:${stateSha256}`, 'x')
        const asked = {
          returnUrl: 'x',
          requestedScope: undefined,
          codeChallenge: 'x',
          expiresAtMs: Date.now() + 3_600_000,
        }
        return store.createSignIn({ ...asked, stateSha256, siteId: SITES[0] as SiteId, clientStateSealed })
      }
      const secret = (sealer: Sealer) => {
        const name = `test:${sha256()}`
        return store.putSecret(name, sealer.seal(name, 'x'))
      }
      const writes = [site, answer, secret, webhook, signIn]
      for (const write of writes) await write(then)
      expect(await rotate()).toMatchObject({ code: 0 })
      for (const write of writes) {
        await expect(write(then)).rejects.toThrow(
          new StoreUnavailable(
            'the master key of this store was changed: restart this node with the new one',
          ),
        )
      }
      await expect(keys.reload(Date.now())).rejects.toThrow(OtherMasterKey)
      for (const write of writes) await write(now)
    })
  })

  test('control: a write that does not look at the key is taken, and lost', {
    tags: 'long',
    timeout: TEST_MS_MAX,
  }, async () => {
    const { place, old, fresh, rotate, at } = await house('PostgreSQL')
    expect(await rotate()).toMatchObject({ code: 0 })
    await ask(
      place,
      `INSERT INTO secrets (name, sealed) VALUES ('test', '${createSealer(old).seal('test', 'x')}')`,
    )
    const sealed = await at((store) => store.secret('test'), fresh)
    expect(() => createSealer(fresh).open('test', sealed ?? '')).toThrow(OtherMasterKey)
  })

  test('loses nothing that it writes at the very time of the change', {
    tags: 'long',
    timeout: TEST_MS_MAX,
  }, async () => {
    const { old, fresh, rotate, at } = await house('PostgreSQL')
    await at(async (store) => {
      const sealer = createSealer(old)
      let isOver = false
      let isRotated = false
      const written: string[] = []
      /** Of those that began after the change: how many were tried, and which were accepted. */
      const after = { tried: 0, written: [] as string[] }
      const writers = [...Array(4)].map(async () => {
        while (!isOver) {
          const name = `test:${sha256()}`
          const isAfter = isRotated
          try {
            await store.putSecret(name, sealer.seal(name, name))
            written.push(name)
            if (isAfter) after.written.push(name)
          } catch (fault) {
            expect(fault).toBeInstanceOf(StoreUnavailable)
          }
          if (isAfter) after.tried++
        }
      })
      await expect.poll(() => written.length).toBeGreaterThan(0)
      expect(await rotate()).toMatchObject({ code: 0 })
      isRotated = true
      await expect.poll(() => after.tried).toBeGreaterThan(20)
      isOver = true
      await Promise.all(writers)
      expect(after.written).toEqual([])
      for (const name of written)
        expect(createSealer(fresh).open(name, (await store.secret(name)) ?? '')).toBe(name)
    })
  })
})
