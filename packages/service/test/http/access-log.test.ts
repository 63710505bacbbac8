import { afterEach, describe, expect, test } from 'vitest'
import { Problem } from '../../src/problem.ts'
import type { Routes } from '../../src/routes/all.ts'
import { type AppDouble, createAppDouble, SITE } from './app-double.ts'

const routes = {
  introspect: async () => ({ status: 200, body: { active: false } }),
  protected_action: async (request) => {
    request.requirePresentation()
    throw new Problem('credential_revoked')
  },
  revocation_status: () =>
    Promise.reject(new Error('it failed for svc_at_CANARYCANARY at postgres://user:canary-password@db/x')),
  list_keys: async () => ({ status: 200, body: { items: [], next_cursor: null } }),
} satisfies Routes as Routes

let double: AppDouble
afterEach(() => double.app.close())

describe('the access log', () => {
  test('has one line of JSON for each request, with what an operator needs', async () => {
    double = createAppDouble({ routes })
    const key = double.key({ permissions: ['site:admin'] })
    await double.call('GET', `/api/sites/${SITE}/keys`, {
      headers: { 'x-api-key': key, 'x-request-id': 'r-1' },
    })
    await double.call('POST', '/api/protected/action', {
      headers: { 'x-service-credential': 'abc', 'x-request-id': 'r-2' },
    })
    await double.call('GET', '/nothing/here', { headers: { 'x-request-id': 'r-3' } })
    const lines = double.logLines.map((line) => JSON.parse(line))
    expect(lines).toEqual([
      {
        level: 'info',
        time: expect.stringMatching(/Z$/),
        method: 'GET',
        route: '/api/sites/{site_id}/keys',
        status: 200,
        ms: expect.any(Number),
        request_id: 'r-1',
        key_id: expect.stringMatching(/^key_/),
        msg: 'request',
      },
      {
        level: 'info',
        time: expect.stringMatching(/Z$/),
        method: 'POST',
        route: '/api/protected/action',
        status: 401,
        code: 'credential_revoked',
        ms: expect.any(Number),
        request_id: 'r-2',
        msg: 'request',
      },
      {
        level: 'info',
        time: expect.stringMatching(/Z$/),
        method: 'GET',
        route: null,
        status: 404,
        code: 'not_found',
        ms: expect.any(Number),
        request_id: 'r-3',
        msg: 'request',
      },
    ])
    for (const line of double.logLines) expect(line.indexOf('\n')).toBe(line.length - 1)
  })
  test('never has anything that came in a query, a header, a path or a body (A236, A238)', async () => {
    double = createAppDouble({ routes })
    const key = double.key()
    const canary = 'canary-4711'
    const headers = {
      'x-api-key': key,
      'x-service-credential': canary,
      authorization: `Bearer ${canary}`,
      cookie: canary,
      'user-agent': `${canary}\u001b[31m`,
      referer: canary,
      'idempotency-key': canary,
      'x-request-id': `${canary}"}\r\n{"level":"error"`.replaceAll(/[\r\n]/g, ' '),
      'content-type': 'application/json',
    }
    await double.call('POST', `/api/auth/introspect?${canary}=${canary}`, {
      headers,
      payload: { token: canary, [canary]: 1 },
    })
    await double.call('POST', '/api/protected/action', { headers, payload: { action: canary } })
    await double.call('GET', `/${canary}`, { headers })
    await double.call('GET', `/api/sites/${canary}/keys`, { headers })
    await double.call('GET', '/api/wallet/revocation-status?credential_ids=cred_aaaaaaaa')
    const text = double.logLines.join('')
    expect(text).not.toContain(canary)
    expect(text).not.toContain(key)
    expect(text).not.toContain('CANARY')
    expect(text).not.toContain('canary-password')
    expect(text).toContain('it failed for … at postgres://user:…@db/x')
    for (const line of double.logLines) JSON.parse(line)
    expect(await double.deps.meters.text()).not.toMatch(/canary|svc_/i)
  })
})

describe('the meters', () => {
  test('count requests by endpoint and status, refusals by code, decisions by site', async () => {
    double = createAppDouble({ routes })
    await double.call('POST', '/api/protected/action', { headers: { 'x-service-credential': 'abc' } })
    await double.call('GET', '/nothing')
    double.deps.meters.verdict(SITE, 'bearer', 'allowed')
    double.deps.meters.watchView(() => ({ ageMs: 1500, position: 42, audited: 1 }))
    const text = await double.deps.meters.text()
    expect(text).toContain('countersign_requests_total{endpoint="protected_action",status="401"} 1')
    expect(text).toContain('countersign_requests_total{endpoint="none",status="404"} 1')
    expect(text).toContain(
      'countersign_problems_total{endpoint="protected_action",code="credential_revoked"} 1',
    )
    expect(text).toContain(
      'countersign_verdicts_total{site_id="shop.example",presented="bearer",outcome="allowed"} 1',
    )
    expect(text).toContain('countersign_view_age_seconds 1.5')
    expect(text).toContain('countersign_log_position 42')
  })
})
