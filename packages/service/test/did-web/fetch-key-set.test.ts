import { afterEach, describe, expect, it } from 'vitest'
import { createKeySetFetcher } from '../../src/did-web/fetch-key-set.ts'
import type { FetchOptions } from '../../src/net/fetch-bytes.ts'
import { createJsonFetcher } from '../../src/net/fetch-json.ts'
import { AddressForbidden } from '../../src/net/public-address.ts'
import { newJwk } from '../jwks.ts'
import { type KeySetServer, openKeySetServer } from '../key-set-server.ts'

const servers: KeySetServer[] = []
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close()
})
const open = async (path?: string) => {
  const server = await openKeySetServer(path, [newJwk('EC', { kid: 'k1' })])
  servers.push(server)
  return server
}
const fetcher = (options: Partial<FetchOptions> = {}) =>
  createKeySetFetcher(createJsonFetcher({ allowLoopback: true, ...options }))
const KEY = { keys: [{ kid: 'k1' }] }

describe('the keys of an OAuth issuer', () => {
  it('are fetched from its key set', async () => {
    const server = await open()
    const location = { issuer: server.issuer, jwksUri: `${server.url}/keys` }
    expect(await fetcher().fetch(location)).toMatchObject(KEY)
    expect(server.requested).toEqual(['/keys'])
  })

  it.each([
    ['', '/.well-known/oauth-authorization-server'],
    ['/', '/.well-known/oauth-authorization-server'],
    ['/realms/acme', '/.well-known/oauth-authorization-server/realms/acme'],
    ['/realms/acme/', '/.well-known/oauth-authorization-server/realms/acme'],
  ])('are found through RFC 8414 for the path "%s"', async (path, metadata) => {
    const server = await open(path)
    server.answers.set(metadata, { body: { issuer: server.issuer, jwks_uri: `${server.url}/keys` } })
    expect(await fetcher().fetch({ issuer: server.issuer, jwksUri: null })).toMatchObject(KEY)
    expect(server.requested).toEqual([metadata, '/keys'])
  })

  it.each([
    ['', '/.well-known/openid-configuration'],
    ['/realms/acme/', '/realms/acme/.well-known/openid-configuration'],
  ])('are found through OpenID Connect for the path "%s"', async (path, metadata) => {
    const server = await open(path)
    server.answers.set(metadata, { body: { issuer: server.issuer, jwks_uri: `${server.url}/keys` } })
    expect(await fetcher().fetch({ issuer: server.issuer, jwksUri: null })).toMatchObject(KEY)
    expect(server.requested).toHaveLength(3)
  })

  it.each([
    ['with a slash at the end', (issuer: string) => `${issuer}/`],
    ['in upper case', (issuer: string) => issuer.toUpperCase()],
    ['of another host', () => 'https://idp.example'],
    ['that is missing', () => undefined],
  ])('are rejected when the metadata names an issuer %s', async (_what, spell) => {
    const server = await open()
    const body = { issuer: spell(server.issuer), jwks_uri: `${server.url}/keys` }
    server.answers.set('/.well-known/oauth-authorization-server', { body })
    const answer = await fetcher().fetch({ issuer: server.issuer, jwksUri: null })
    expect(answer).toMatchObject({ fault: expect.stringContaining('names another issuer') })
    expect(server.requested).toHaveLength(1)
  })

  it('are rejected when the metadata has no key set, or none can be found', async () => {
    const server = await open()
    const location = { issuer: server.issuer, jwksUri: null }
    expect(await fetcher().fetch(location)).toMatchObject({
      fault: expect.stringContaining('not with a metadata document'),
    })
    server.answers.set('/.well-known/openid-configuration', { body: { issuer: server.issuer } })
    expect(await fetcher().fetch(location)).toMatchObject({ fault: expect.stringContaining('no jwks_uri') })
  })

  it('are not fetched through redirects (A289)', async () => {
    const server = await open()
    const headers = { location: `${server.url}/keys` }
    server.answers.set('/moved', { status: 302, headers })
    const location = { issuer: server.issuer, jwksUri: `${server.url}/moved` }
    expect(await fetcher().fetch(location)).toMatchObject({
      fault: expect.stringContaining('redirects are not followed'),
    })
    expect(server.requested).toEqual(['/moved'])
  })

  it.each<[string, object, string]>([
    ['more than 64 KiB', { body: `{"keys":[]${' '.repeat(65_536)}}` }, 'larger than 64 KiB'],
    ['another media type', { headers: { 'content-type': 'text/html' }, body: '{"keys":[]}' }, 'Content-Type'],
    ['a compressed body', { headers: { 'content-encoding': 'gzip' }, body: '{"keys":[]}' }, 'compressed'],
    ['a member twice', { body: '{"keys":[],"keys":[]}' }, 'not strict JSON'],
    ['no list of keys', { body: { keys: {} } }, 'no list of keys'],
    ['a key that is no object', { body: { keys: ['k'] } }, 'not a JSON object'],
    [
      '10,000 keys',
      { body: { keys: Array.from({ length: 10_000 }, () => ({ kty: 'EC' })) } },
      'larger than 64 KiB',
    ],
    ['65 keys', { body: { keys: Array.from({ length: 65 }, () => ({ kty: 'X' })) } }, 'more than 64'],
    ['17 usable keys', { body: { keys: Array.from({ length: 17 }, () => newJwk('OKP')) } }, 'more than 16'],
    ['a private key', { body: { keys: [newJwk('RSA', {}, 'private')] } }, 'private key'],
    [
      'a kid twice',
      { body: { keys: [newJwk('EC', { kid: 'a' }), newJwk('OKP', { kid: 'a' })] } },
      'same kid',
    ],
    ['a server error', { status: 500 }, 'not with a key set'],
  ])('are rejected from a set with %s (A289)', async (_what, answer, words) => {
    const server = await open()
    server.answers.set('/bad', answer)
    const location = { issuer: server.issuer, jwksUri: `${server.url}/bad` }
    expect(await fetcher().fetch(location)).toMatchObject({ fault: expect.stringContaining(words) })
  })

  it('are given up when the host answers too slowly (A289)', async () => {
    const server = await open()
    const location = { issuer: server.issuer, jwksUri: `${server.url}/slow` }
    server.answers.set('/slow', { isSlow: true })
    expect(await fetcher({ timeoutMs: 100 }).fetch(location)).toMatchObject({
      fault: 'the key set could not be fetched',
    })
  })

  it('are never fetched from this machine or a private network in production (A289)', async () => {
    const server = await open()
    const production = fetcher({ allowLoopback: false })
    for (const jwksUri of [
      `${server.url}/keys`,
      server.url.replace('127.0.0.1', 'localhost'),
      'http://idp.example/keys',
      'https://10.0.0.1/keys',
      'https://169.254.169.254/latest/meta-data',
      'https://[::1]/keys',
      'https://[fd00::1]/keys',
      'https://idp.example:22/keys',
      'https://user:secret@idp.example/keys',
      'file:///etc/passwd',
    ])
      expect(await production.fetch({ issuer: 'https://idp.example', jwksUri })).toHaveProperty('fault')
    expect(server.requested).toEqual([])
  })

  it('are not fetched from a private address that the metadata or a public name leads to (A289)', async () => {
    const server = await open()
    const resolve = ((_name: string, _options: object, callback: (error: null, found: object[]) => void) =>
      callback(null, [{ address: '127.0.0.1', family: 4 }])) as unknown as FetchOptions['resolve'] & {}
    const answer = await fetcher({ allowLoopback: false, resolve }).fetch({
      issuer: 'https://idp.example',
      jwksUri: null,
    })
    expect(answer).toMatchObject({
      fault: 'the metadata document could not be fetched',
      cause: expect.any(AddressForbidden),
    })
    server.answers.set('/.well-known/oauth-authorization-server', {
      body: { issuer: server.issuer, jwks_uri: 'https://169.254.169.254/keys' },
    })
    expect(await fetcher().fetch({ issuer: server.issuer, jwksUri: null })).toHaveProperty('fault')
  })
})
