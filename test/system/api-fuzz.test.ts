import { credentialHeader } from '@countersign/core'
import { afterAll, describe, expect, it } from 'vitest'
import { checkContract } from '../../packages/service/test/contract-check.ts'
import { startPostgres } from '../../packages/service/test/store/postgres-server.ts'
import { createHome, startFurnished } from '../process/service-process.ts'
import { ApiFuzz, type FuzzAnswer, type FuzzWorld } from './api-fuzz.ts'

/** `npm run fuzz-api` sends 20,000 to each store. */
const REQUESTS = Number(process.env.FUZZ_API ?? 400)
const SEED = Number(process.env.FUZZ_SEED ?? 1)
const RUN_MS_MAX = 1_800_000
const SHOWN_MAX = 10
const RETURN_URL = 'https://app.example/cb'

const open: { stop(): Promise<unknown> }[] = []
afterAll(async () => {
  for (const each of open) await each.stop()
})

const homes = {
  SQLite: () => createHome(),
  PostgreSQL: async () => {
    const postgres = await startPostgres()
    open.push(postgres)
    return createHome({ databaseUrl: await postgres.createTables() })
  },
}

describe.each(['SQLite', 'PostgreSQL'] as const)('random requests to a service on %s', (store) => {
  it('are answered as the contract says, and none with a fault of the service', {
    tags: 'long',
    timeout: RUN_MS_MAX,
  }, async () => {
    const service = await startFurnished(await homes[store]())
    open.unshift(service)
    const fuzz = new ApiFuzz(await createWorld(service), SEED)
    const faults: string[] = []
    const statuses = new Set<number>()
    for (let n = 0; n < REQUESTS; n++) {
      const answer = await fuzz.next()
      statuses.add(answer.status)
      const fault = findFault(answer)
      if (fault !== undefined) faults.push(`request ${n}: ${fault}`)
    }
    fuzz.close()
    expect(faults.slice(0, SHOWN_MAX), `${faults.length} of ${REQUESTS}`).toEqual([])
    // Otherwise the requests would not get far enough to find anything.
    expect([...statuses]).toEqual(expect.arrayContaining([200, 201, 400, 401, 403, 404, 422]))
  })
})

function findFault(answer: FuzzAnswer): string | undefined {
  const { method, path, body, status, text } = answer
  try {
    if (status >= 500) expect(status === 503 && text).toContain('"revocation_view_stale"')
    checkContract(answer)
    return undefined
  } catch (fault) {
    return [method, path, body, '→', status, text, fault].map((part) => String(part).slice(0, 400)).join(' ')
  }
}

/** What the answers below contain. */
interface Content {
  readonly person_id?: string
  readonly session_id?: string
  readonly url?: string
  readonly items?: readonly { readonly key_id: string }[]
}

/** All kinds of callers: a key of a site, one of the operator, a person in the console, none. */
async function createWorld({ url, dev }: Awaited<ReturnType<typeof startFurnished>>): Promise<FuzzWorld> {
  const operator = { 'x-api-key': dev.operator_key }
  const call = async (
    method: string,
    path: string,
    headers: Readonly<Record<string, string>>,
    body?: object,
  ) => {
    const type = body && { 'content-type': 'application/json' }
    const answer = await fetch(`${url}${path}`, {
      method,
      headers: { ...headers, ...type },
      ...(body && { body: JSON.stringify(body) }),
    })
    expect(answer.ok, path).toBe(true)
    return { ...((await answer.json()) as Content), cookie: answer.headers.get('set-cookie') ?? '' }
  }
  await call('PATCH', `/api/sites/${dev.site_id}`, operator, { return_urls: [RETURN_URL] })
  const person = { name: 'Ada', roles: [{ site_id: null, role: 'operator' }] }
  const { person_id: personId } = await call('POST', '/api/people', operator, person)
  const { url: link = '' } = await call('POST', `/api/people/${personId}/links`, operator)
  const page = { origin: url, 'sec-fetch-site': 'same-origin', 'countersign-console': '1' }
  const session = await call('POST', '/console/session', page, {
    link: new URLSearchParams(new URL(link).hash.slice(1)).get('link'),
  })
  const { session_id: sessionId } = session
  const cookie = session.cookie.split(';')[0] ?? ''
  const keyIds: string[] = []
  for (const path of [`/api/sites/${dev.site_id}/keys`, '/api/service/operator-keys'])
    for (const { key_id } of (await call('GET', path, operator)).items ?? []) keyIds.push(key_id)
  return {
    url,
    callers: [
      {},
      { 'x-api-key': dev.site_key },
      { 'x-api-key': dev.site_key },
      operator,
      { ...page, cookie },
    ],
    kept: new Set([...keyIds, personId, sessionId]),
    known: {
      site_id: [dev.site_id],
      return_url: [RETURN_URL],
      return_urls: [RETURN_URL],
      confirm: [dev.site_id],
      requested_scope: dev.protected_scope,
      scope: dev.protected_scope,
      ppid: [dev.ppid],
      issuer: [dev.issuer],
      user_ref: [dev.user_ref],
      credential: [dev.credential],
      header: [credentialHeader(dev.credential)],
    },
  }
}
