import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { inject } from '../inject.ts'
import { forEachStoreWriter } from '../store/store-writer.ts'
import { addPerson, type ConsoleNode, openConsoleNode, outcome } from './console-node.ts'

const CONSOLE = 'https://console.example'

forEachStoreWriter('console_url', (newWriter) => {
  let node: ConsoleNode
  beforeAll(async () => {
    node = await openConsoleNode(await newWriter(), { COUNTERSIGN_CONSOLE_URL: CONSOLE })
  })
  afterAll(() => node.close())
  const at = (host: string, path: string, headers = {}) =>
    node.send(path, { headers: { host, accept: 'application/json', ...headers } })
  const own = { 'sec-fetch-site': 'same-origin', origin: CONSOLE }

  it('is where links lead, and where they open a session', async () => {
    const personId = await addPerson(node, [{ siteId: null, role: 'operator' }])
    const { url } = (
      await node.send(`/api/people/${personId}/links`, {
        method: 'POST',
        headers: { 'x-api-key': node.operatorKey },
      })
    ).json()
    expect(url).toMatch(/^https:\/\/console\.example\/console#link=/)
    const body = { link: url.split('#link=')[1] }
    const open = (headers: object) =>
      node.send('/console/session', { method: 'POST', body, headers: headers as Record<string, string> })
    // At the address of the service there is no console.
    expect(outcome(await open({ ...own, origin: 'https://id.example' }))).toEqual([404, 'not_found'])
    const wrong = {
      host: 'console.example',
      'sec-fetch-site': 'same-origin',
      origin: 'http://console.example',
    }
    expect(outcome(await open(wrong))).toEqual([403, 'origin_forbidden'])
    expect((await open({ host: 'console.example', ...own })).statusCode).toBe(201)
  })

  it('is the only host of the console, and has no pages for users', async () => {
    for (const path of ['/console', '/console/users', '/console/session', '/console/doors', '/%63onsole'])
      expect([path, (await at('id.example', path, own)).statusCode]).toEqual([path, 404])
    expect((await at('console.example', '/console/doors', own)).statusCode).toBe(200)
    expect((await at('console.example', '/wallet')).statusCode).toBe(404)
    expect((await at('console.example', '/auth/sign-in?state=x')).statusCode).toBe(404)
    expect((await at('id.example', '/wallet')).statusCode).toBe(200)
    expect((await at('console.example', '/healthz')).statusCode).toBe(200)
  })

  it('works at the admin port too', async () => {
    const admin = node.service.admin
    if (admin === undefined) throw new Error('there is no admin listener')
    const ask = (host: string) =>
      inject(admin, { method: 'GET', url: '/console/doors', headers: { host, ...own } })
    expect((await ask('console.example')).statusCode).toBe(200)
    expect((await ask('127.0.0.1:8788')).statusCode).toBe(404)
  })
})

describe('console: off', () => {
  forEachStoreWriter('removes the pages too', (newWriter) => {
    it('404', async () => {
      const node = await openConsoleNode(await newWriter(), { COUNTERSIGN_CONSOLE: 'off' })
      try {
        for (const path of ['/console', '/console/users', '/console/assets/x.js', '/console/doors'])
          expect([path, (await node.send(path)).statusCode]).toEqual([path, 404])
      } finally {
        await node.close()
      }
    })
  })
})
