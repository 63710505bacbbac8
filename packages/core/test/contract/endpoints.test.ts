import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import { accessCredentialSchema } from '../../src/contract/access-credential.ts'
import { consoleProblems, generalProblems } from '../../src/contract/endpoint.ts'
import { endpointList, endpoints } from '../../src/contract/endpoints.ts'
import { logEntrySchema, webhookBodySchema, webhookHeadersSchema } from '../../src/contract/events.ts'
import { limits } from '../../src/contract/limits.ts'
import { type ProblemCode, problemCodes } from '../../src/contract/problems.ts'
import { problemDetailsSchema } from '../../src/contract/validation.ts'
import { permissions } from '../../src/contract/vocabulary.ts'

const contract = `
POST /api/protected/action 200
POST /api/auth/exchange-proof 200
POST /api/auth/introspect 200
POST /api/auth/revoke 200
GET /api/auth/verify 200
POST /api/wallet/revoke-user 200
POST /api/wallet/revoke 200
POST /api/wallet/reinstate-user 200
POST /api/wallet/sign-out-user 200
GET /api/wallet/revocation-status 200
POST /api/wallet/credentials 201
POST /api/wallet/offers 201
POST /wallet/offer 200
POST /wallet/claim 201
GET /wallet 200
POST /auth/sdk-request 201
GET /auth/sdk-request 303
GET /auth/sign-in 200
GET /logos/{site_id}/{sha256} 200
POST /auth/present 200,303
GET /auth/sdk-callback 303
POST /auth/sdk-callback 303
POST /auth/sdk-result 200
GET /api/sites/{site_id}/snapshot 200,304
GET /api/sites/{site_id}/feed 200
POST /api/sites/{site_id}/feed/ack 204
GET /api/sites/{site_id}/propagation 200
GET /api/sites/{site_id}/log 200
GET /api/sites/{site_id}/head 200
GET /api/sites/{site_id}/summary 200
POST /api/sites/{site_id}/feed/report 204
POST /api/sites/{site_id}/signals/logout 200
POST /api/sites/{site_id}/signals/token-revocation 204
POST /api/sites/{site_id}/signals/events 202
POST /api/sites 201
GET /api/sites 200
GET /api/sites/{site_id} 200
PATCH /api/sites/{site_id} 200
POST /api/sites/{site_id}/cut-off 200
POST /api/sites/{site_id}/cut-off-issuer 200
POST /api/sites/{site_id}/revoke-holder 200
POST /api/sites/{site_id}/revocations 200
POST /api/sites/{site_id}/preview 200
GET /api/sites/{site_id}/users 200
GET /api/sites/{site_id}/users/{ppid} 200
POST /api/sites/{site_id}/users/erase 200
POST /api/sites/{site_id}/users/resolve 200
POST /api/sites/{site_id}/issuers 201
GET /api/sites/{site_id}/issuers 200
GET /api/sites/{site_id}/issuers/{issuer} 200
PATCH /api/sites/{site_id}/issuers/{issuer} 200
PATCH /api/sites/{site_id}/issuers/{issuer}/keys/{key} 200
POST /api/sites/{site_id}/keys 201
GET /api/sites/{site_id}/keys 200
PATCH /api/sites/{site_id}/keys/{key_id} 200
DELETE /api/sites/{site_id}/keys/{key_id} 204
POST /api/service/operator-keys 201
GET /api/service/operator-keys 200
PATCH /api/service/operator-keys/{key_id} 200
DELETE /api/service/operator-keys/{key_id} 204
GET /api/service/nodes 200
POST /api/sites/{site_id}/webhooks 201
GET /api/sites/{site_id}/webhooks 200
DELETE /api/sites/{site_id}/webhooks/{webhook_id} 204
PATCH /api/sites/{site_id}/webhooks/{webhook_id} 200
POST /api/sites/{site_id}/webhooks/{webhook_id}/recover 202
POST /api/sites/{site_id}/webhooks/{webhook_id}/test 200
GET /api/sites/{site_id}/deliveries 200
GET /api/sites/{site_id}/deliveries/{delivery_id} 200
POST /api/sites/{site_id}/webhooks/{webhook_id}/rotate-secret 200
GET /api/sites/{site_id}/webhooks/{webhook_id}/deliveries 200
POST /api/sites/{site_id}/deliveries/{delivery_id}/replay 202
GET /api/sites/{site_id}/credentials 200
GET /api/sites/{site_id}/credentials/{credential_id} 200
GET /api/sites/{site_id}/tokens 200
POST /api/sites/{site_id}/tokens/{token_id}/revoke 200
GET /api/sites/{site_id}/audit 200
GET /api/audit 200
GET /api/sites/{site_id}/verifiers 200
GET /api/sites/{site_id}/receipts 200
GET /api/sites/{site_id}/receipts/{seq} 200
GET /api/sites/{site_id}/propagation/stats 200
POST /api/sites/{site_id}/drills 202
GET /api/sites/{site_id}/drills 200
GET /api/sites/{site_id}/drills/{drill_id} 200
GET /api/sites/{site_id}/verifiers/{instance_id} 200
DELETE /api/sites/{site_id}/verifiers/{instance_id} 204
POST /api/people 201
GET /api/people 200
PATCH /api/people/{person_id} 200
POST /api/people/{person_id}/links 201
GET /console/doors 200
POST /console/session 201
GET /console/session 200
DELETE /console/session 204
GET /console/people 200
GET /console/sessions 200
DELETE /console/sessions/{session_id} 204
POST /console/demo-verifiers 201
POST /console/session/challenge 200
POST /console/session/passkey 201
POST /console/session/step-up/challenge 200
POST /console/session/step-up 200
POST /console/passkeys/challenge 200
POST /console/passkeys 201
GET /console/passkeys 200
PATCH /console/passkeys/{passkey_id} 200
DELETE /console/passkeys/{passkey_id} 204
GET /console/oidc/start 303
GET /console/oidc/callback 303
POST /console/oidc/logout 200
GET /.well-known/did.json 200
GET /.well-known/jwks.json 200
GET /.well-known/countersign 200
GET /ns/access/v1 200
GET /openapi.json 200,304
GET /docs 200,304
GET /problems/{code} 200
GET /healthz 200
GET /readyz 200
GET /metrics 200
`

const namesIn = (path: string) => [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name)

describe('endpoints', () => {
  test('are those of the contract, each once, with their answers', () => {
    const table = endpointList.map(
      ({ method, path, answers }) => `${method} ${path} ${Object.keys(answers).join(',')}`,
    )
    expect(table.sort()).toEqual(contract.trim().split('\n').sort())
  })

  test.each(endpointList.map((one) => [one.id, one] as const))(
    '%s has a schema for exactly the parameters in its path',
    (_id, { path, request }) => {
      const params = request.params === undefined ? [] : Object.keys((request.params as z.ZodObject).shape)
      expect(params).toEqual(namesIn(path))
    },
  )

  test.each(endpointList.map((one) => [one.id, one] as const))(
    '%s repeats only parameters that are lists',
    (_id, { request }) => {
      const shape =
        request.query === undefined ? {} : z.toJSONSchema(request.query, { io: 'output' }).properties
      const lists = Object.entries(shape ?? {}).filter(
        ([, schema]) => typeof schema === 'object' && schema.type === 'array',
      )
      // The sign-in link has its list in one parameter, separated by spaces.
      expect(lists.map(([name]) => name).filter((name) => name !== 'requested_scope')).toEqual([
        ...(request.queryLists ?? []),
      ])
    },
  )

  test('let keys do exactly what section 3 of the contract says', () => {
    const used = new Set(endpointList.flatMap((one) => one.permissions ?? []))
    expect([...used].sort()).toEqual([...permissions].sort())
    for (const { id, auth, permissions: needed = [] } of endpointList) {
      const byKey = ['api_key', 'oauth_client', 'api_key_or_credential', 'api_key_and_credential'].includes(
        auth,
      )
      expect(needed.length > 0, id).toBe(byKey)
    }
    expect(endpoints.propagation_receipt.permissions).toEqual([
      'feed:read',
      'credentials:revoke',
      'site:read',
      'site:admin',
    ])
    const operators = endpointList.filter(({ auth }) => auth === 'operator_key').map(({ id }) => id)
    expect(operators.sort()).toEqual([
      'change_operator_key',
      'change_person',
      'create_console_link',
      'create_operator_key',
      'create_person',
      'create_site',
      'delete_operator_key',
      'list_nodes',
      'list_operator_keys',
      'list_people',
      'list_service_audit',
    ])
  })

  test('let site:read see every list of the administration, and change nothing', () => {
    const readable = endpointList.filter(({ permissions: of = [] }) => of.includes('site:read'))
    for (const { id, method, permissions: of = [] } of readable) {
      expect(method === 'GET' || id === 'resolve_user' || id === 'preview', id).toBe(true)
      expect(of, id).toContain('site:admin')
    }
    const ids = readable.map(({ id }) => id)
    for (const { id, method, tag, auth } of endpointList)
      if (method === 'GET' && tag === 'administration' && auth === 'api_key') expect(ids, id).toContain(id)
    expect(ids).not.toContain('feed')
    expect(ids).not.toContain('snapshot')
  })

  test('take an Idempotency-Key where something is changed through an API key, and where a token is made', () => {
    for (const { id, method, auth, idempotency, request, problems } of endpointList) {
      const changes =
        method !== 'GET' &&
        /key|oauth_client|credential_in_body/.test(auth) &&
        !['introspect', 'acknowledge', 'report_verdicts', 'resolve_user', 'preview'].includes(id)
      expect(idempotency !== undefined, id).toBe(changes)
      expect(problems.includes('idempotency_conflict'), id).toBe(changes)
      const headers = request.headers === undefined ? {} : (request.headers as z.ZodObject).shape
      expect('idempotency-key' in headers, id).toBe(changes)
    }
    const secret = endpointList.filter(({ idempotency }) => idempotency === 'secret').map(({ id }) => id)
    expect(secret.sort()).toEqual([
      'create_console_link',
      'create_key',
      'create_offer',
      'create_operator_key',
      'create_webhook',
      'exchange_proof',
      'rotate_webhook_secret',
    ])
  })

  test('mark those that only end access, which are done under any load', () => {
    expect(new Set(endpointList.filter(({ revokes }) => revokes).map(({ id }) => id))).toEqual(
      new Set([
        'revoke_token',
        'revoke_user',
        'revoke_credential',
        'sign_out_user',
        'revoke_token_by_id',
        'revoke_targets',
        'revoke_holder',
        'cut_off_issuer',
        'cut_off_site',
      ]),
    )
  })
  test('take bodies as JSON, and as forms where OAuth clients and plain pages call', () => {
    const forms = endpointList
      .filter(({ bodyTypes }) => bodyTypes.includes('application/x-www-form-urlencoded'))
      .map(({ id }) => id)
    expect(forms.sort()).toEqual([
      'introspect',
      'present',
      'receive_logout',
      'receive_provider_logout',
      'revoke_token',
      'sign_in_callback_by_form',
    ])
    expect(endpoints.exchange_proof.bodyTypes).toEqual(['application/json'])
    expect(endpoints.receive_event.bodyTypes).toEqual(['application/secevent+jwt'])
    expect(endpoints.read_site.bodyTypes).toEqual([])
  })

  test('keep everything that speaks of credentials, tokens or status out of caches', () => {
    const cacheable = endpointList.filter(({ noStore }) => !noStore).map(({ path }) => path)
    expect(
      cacheable.every(
        (path) => !path.startsWith('/api/') && !path.startsWith('/auth/') && !path.startsWith('/wallet/'),
      ),
    ).toBe(true)
  })

  test('say at each place where a credential travels in a body which faults are whose', () => {
    for (const id of ['exchange_proof', 'present'] as const) {
      expect(endpoints[id].description).toMatch(
        /credential_malformed.*request_malformed|request_malformed.*credential_malformed/s,
      )
    }
  })
})

describe('problems of endpoints', () => {
  test('exist, each once, in the order of the table', () => {
    for (const { id, problems } of endpointList)
      expect(problems, id).toEqual(problemCodes.filter((code) => problems.includes(code)))
  })

  test('leave no code of the table unused', () => {
    const used = new Set<ProblemCode>([
      ...generalProblems,
      ...consoleProblems,
      ...endpointList.flatMap(({ problems }) => problems),
    ])
    expect(problemCodes.filter((code) => !used.has(code))).toEqual([])
  })

  test.each([
    [
      'protected_action',
      [
        'credential_missing',
        'auth_ambiguous',
        'token_invalid',
        'scope_insufficient',
        'proof_replayed',
        'revocation_view_stale',
        'bearer_disabled',
      ],
    ],
    [
      'exchange_proof',
      [
        'credential_malformed',
        'site_mismatch',
        'scope_insufficient',
        'ttl_out_of_range',
        'bearer_disabled',
        'proof_required',
        'site_unknown',
      ],
    ],
    ['revoke_token', ['api_key_missing', 'api_key_invalid', 'api_key_forbidden', 'store_unavailable']],
    [
      'revoke_user',
      [
        'auth_ambiguous',
        'api_key_missing',
        'revocation_forbidden',
        'credential_revoked',
        'store_unavailable',
        'idempotency_conflict',
      ],
    ],
    ['revocation_status', ['api_key_invalid', 'revocation_view_stale']],
    ['start_sign_in', ['redirect_not_allowed', 'site_unknown']],
    [
      'present',
      ['state_invalid', 'csrf_invalid', 'origin_forbidden', 'credential_malformed', 'site_mismatch'],
    ],
    ['sign_in_callback', ['state_invalid', 'callback_invalid']],
    ['sign_in_result', ['code_invalid']],
    ['feed', ['cursor_malformed', 'cursor_ahead', 'cursor_expired']],
    ['acknowledge', ['cursor_ahead']],
    ['create_site', ['already_exists', 'redirect_not_allowed']],
    ['add_issuer', ['already_exists', 'key_rejected']],
    ['create_webhook', ['webhook_url_forbidden']],
    ['change_webhook', ['webhook_url_forbidden']],
  ] as const)('%s can answer with what the contract says', (id, codes) => {
    expect([...endpoints[id].problems]).toEqual(expect.arrayContaining([...codes]))
  })

  test('speak of no credential where none is presented', () => {
    for (const id of ['introspect', 'list_sites', 'start_sign_in', 'alive'] as const) {
      expect(
        endpoints[id].problems.filter((code) => code.startsWith('credential_') || code.startsWith('proof_')),
      ).toEqual([])
    }
  })
})

describe('JSON Schema', () => {
  const schemas = endpointList.flatMap(
    ({ id, request: { params, query, headers, body, form }, answers }): [string, z.ZodType][] => {
      const parts = Object.entries({
        params,
        query,
        headers,
        body,
        form,
        ...Object.fromEntries(Object.entries(answers).map(([s, a]) => [s, a.body])),
      })
      return parts.flatMap(([part, schema]) => (schema === undefined ? [] : [[`${id} ${part}`, schema]]))
    },
  )

  test.each<[string, z.ZodType]>([
    ...schemas,
    ['credential', accessCredentialSchema],
    ['problem', problemDetailsSchema],
    ['entry', logEntrySchema],
    ['webhook', webhookBodySchema],
    ['webhook headers', webhookHeadersSchema],
  ])('can be made of %s, both ways', (_name, schema) => {
    for (const io of ['input', 'output'] as const) {
      const json = z.toJSONSchema(schema, { io, target: 'draft-2020-12', unrepresentable: 'throw' })
      expect(json.$schema).toBe('https://json-schema.org/draft/2020-12/schema')
      // Every leaf has a type or description: a schema that is only checked in code would be
      // documented as "anything".
      for (const [name, member] of Object.entries(json.properties ?? {}))
        expect(Object.keys(member), name).not.toEqual([])
    }
  })

  test('gives each name to one schema only', () => {
    const seen = new Map<string, z.ZodType>()
    for (const [, schema] of schemas) {
      const id = z.globalRegistry.get(schema)?.id
      if (id === undefined) continue
      expect(seen.get(id) ?? schema, id).toBe(schema)
      seen.set(id, schema)
    }
    expect(seen.size).toBeGreaterThan(30)
  })

  test('shows the limits themselves', () => {
    const properties = (schema: z.ZodType) =>
      z.toJSONSchema(schema, { io: 'output' }).properties as Record<string, Record<string, unknown>>
    const exchange = properties(endpoints.exchange_proof.request.body)
    expect(exchange.ttl_seconds).toMatchObject({
      type: 'integer',
      minimum: limits.token_ttl_seconds_min,
      maximum: limits.token_ttl_seconds_max,
    })
    expect(exchange.requested_scope).toMatchObject({
      type: 'array',
      minItems: 1,
      maxItems: limits.scope_list_max,
      uniqueItems: true,
    })
    expect(exchange.credential).toMatchObject({ type: 'object' })
    expect(exchange.site_id).toMatchObject({ type: 'string', pattern: expect.stringMatching(/^\^/) })
    expect(properties(endpoints.revoke_user.request.body).reason).toMatchObject({
      type: 'string',
      maxLength: limits.reason_chars_max,
    })
    expect(properties(endpoints.revocation_status.request.query).credential_ids).toMatchObject({
      minItems: 1,
      maxItems: limits.status_ids_max,
    })
    expect(properties(endpoints.list_sites.request.query).limit).toMatchObject({
      type: 'integer',
      minimum: 1,
      maximum: limits.page_items_max,
      default: limits.page_items_default,
    })
    expect(z.toJSONSchema(endpoints.issue_credential.request.body).required).toEqual(['site_id', 'scope'])
    expect(z.toJSONSchema(endpoints.exchange_proof.request.body)).toMatchObject({
      required: ['credential'],
      additionalProperties: false,
    })
  })
})
