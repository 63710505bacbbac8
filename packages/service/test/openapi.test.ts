import { endpointList } from '@countersign/core/contract'
import { describe, expect, test } from 'vitest'
import { createOpenapi } from '../src/openapi.ts'

// biome-ignore lint/suspicious/noExplicitAny: a document, walked freely.
const document = createOpenapi(endpointList, 'https://id.example') as any

function* walk(value: unknown, path = '#'): Generator<[string, unknown]> {
  yield [path, value]
  if (typeof value === 'object' && value !== null)
    for (const [key, member] of Object.entries(value)) yield* walk(member, `${path}/${key}`)
}

describe('the OpenAPI description', () => {
  test('has every endpoint of the contract, once', () => {
    for (const { id, path, method } of endpointList)
      expect(document.paths[path][method.toLowerCase()].operationId).toBe(id)
    const count = Object.values(document.paths).reduce(
      (sum: number, methods) => sum + Object.keys(methods as object).length,
      0,
    )
    expect(count).toBe(endpointList.length)
  })
  test('refers only to what is there', () => {
    for (const [path, value] of walk(document)) {
      if (!path.endsWith('/$ref')) continue
      const found = String(value)
        .slice(2)
        .split('/')
        .reduce((at, step) => at?.[step], document)
      expect(found, `${path} → ${value}`).toBeDefined()
    }
  })
  test('describes every parameter of a path', () => {
    for (const { path, method } of endpointList) {
      const { parameters = [] } = document.paths[path][method.toLowerCase()]
      const named = parameters
        .filter((parameter: { in: string }) => parameter.in === 'path')
        .map(({ name }: { name: string }) => name)
      expect(named, path).toEqual([...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name))
    }
  })
  test('has no schema twice, and none without a use', () => {
    const text = JSON.stringify(document)
    for (const name of Object.keys(document.components.schemas)) {
      expect(text, name).toContain(`"#/components/schemas/${name}"`)
      expect(name).not.toMatch(/(?:Input|Output)$/)
    }
  })
  test('describes bodies as they are sent, and answers as they come', () => {
    const { requestBody, responses } = document.paths['/api/wallet/revoke-user'].post
    expect(requestBody.content['application/json'].schema).toMatchObject({
      required: ['site_id'],
      oneOf: [{ required: ['ppid'] }, { required: ['user_ref'] }, { required: ['issuer', 'subject'] }],
      additionalProperties: false,
    })
    expect(responses['200'].content['application/json'].schema).toEqual({
      $ref: '#/components/schemas/Revocation',
    })
    expect(responses['401'].headers).toHaveProperty('WWW-Authenticate')
    expect(Object.keys(document.paths['/api/auth/introspect'].post.requestBody.content)).toEqual([
      'application/json',
      'application/x-www-form-urlencoded',
    ])
    expect(document.paths['/api/protected/action'].post.requestBody.required).toBe(false)
    expect(Object.keys(document.paths['/api/auth/verify'].get.responses)).toEqual([
      '200',
      '401',
      '403',
      '429',
      '500',
      '503',
    ])
  })
  test('describes what a webhook is sent', () => {
    const { parameters, requestBody, responses } = document.webhooks.entry.post
    expect(parameters.map(({ name, in: place }: { name: string; in: string }) => `${place} ${name}`)).toEqual(
      ['header webhook-id', 'header webhook-timestamp', 'header webhook-signature'],
    )
    expect(requestBody.content['application/json'].schema).toEqual({
      $ref: '#/components/schemas/WebhookBody',
    })
    expect(Object.keys(responses)).toEqual(['410', '2XX', 'default'])
  })
  test('tells of a good end for every operation', () => {
    for (const { id, path, method } of endpointList) {
      const { responses } = document.paths[path][method.toLowerCase()]
      expect(
        Object.keys(responses).filter((status) => /^(?:2..|303)$/.test(status)),
        id,
      ).not.toEqual([])
    }
  })
  test('names every member of an object that has fixed ones', () => {
    const { limits, rate_limits, endpoints } = document.components.schemas.Discovery.properties
    for (const { properties, required } of [limits, rate_limits])
      expect(Object.keys(properties)).toEqual(required)
    expect(limits.properties.credential_bytes_max).toEqual({ type: 'number' })
    expect(endpoints).not.toHaveProperty('properties')
  })
  test('has no refusal that the contract does not know', () => {
    const { description } = document.paths['/api/auth/exchange-proof'].post.responses['403']
    expect(description.split(', ').sort()).toEqual(['bearer_disabled', 'scope_insufficient', 'site_mismatch'])
  })
})
