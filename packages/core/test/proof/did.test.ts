import { describe, expect, test } from 'vitest'
import {
  didKey,
  didKeyMethod,
  findDidKeys,
  parseDidJwk,
  parseDidKey,
  parseDidWeb,
} from '../../src/proof/did.ts'
import type { PublicKey } from '../../src/proof/keys.ts'

const ED25519 = 'z6MkrJVnaZkeFzdQyMZu1cgjg7k1pZZ6pvBQ7XJPt4swbTQ2'
const P256 = 'zDnaepBuvsQ8cpsWrVKw8fbpGpvPeNSjVPTWoq6cRqaYzBKVP'

function didJwk(text: string): string {
  return `did:jwk:${Buffer.from(text).toString('base64url')}`
}

describe('did:key', () => {
  test.each([ED25519, P256])('reads and writes did:key:%s', (multikey) => {
    const key = parseDidKey(`did:key:${multikey}`) as PublicKey
    expect(key.multikey).toBe(multikey)
    expect(didKey(key)).toBe(`did:key:${multikey}`)
    expect(didKeyMethod(key)).toBe(`did:key:${multikey}#${multikey}`)
    expect(findDidKeys(`did:key:${multikey}`)).toEqual([{ id: multikey, key }])
  })

  test.each([
    `did:key:${ED25519}#${ED25519}`,
    `did:key:${ED25519}?x=1`,
    `did:key:${ED25519}/`,
    `did:key:1.1:${ED25519}`,
    `did:key:${ED25519} `,
    ` did:key:${ED25519}`,
    `DID:key:${ED25519}`,
    `did:Key:${ED25519}`,
    `did:key:${ED25519.toUpperCase()}`,
    `did:key:m${ED25519.slice(1)}`,
    'did:key:z6LSbysY2xFMRpGMhb7tFTLMpeuPRaqaWM1yECx2AtzE3KCc',
    'did:key:',
    ED25519,
  ])('rejects %s', (did) => {
    expect(parseDidKey(did)).toBeUndefined()
    expect(findDidKeys(did)).toBeUndefined()
  })

  test.each([[undefined], [null], [1], [{}], [[`did:key:${ED25519}`]]])('rejects %j', (did) => {
    expect(parseDidKey(did)).toBeUndefined()
    expect(parseDidJwk(did)).toBeUndefined()
    expect(parseDidWeb(did)).toBeUndefined()
    expect(findDidKeys(did)).toBeUndefined()
  })
})

describe('did:jwk', () => {
  const x = Buffer.from((parseDidKey(`did:key:${ED25519}`) as PublicKey).bytes).toString('base64url')
  const good = `{"kty":"OKP","crv":"Ed25519","x":"${x}"}`

  test('reads the key, whose name is 0', () => {
    expect(parseDidJwk(didJwk(good))?.multikey).toBe(ED25519)
    expect(findDidKeys(didJwk(good))).toEqual([{ id: '0', key: parseDidJwk(didJwk(good)) }])
  })

  test('reads the P-256 example of the did:jwk specification', () => {
    const did =
      'did:jwk:eyJjcnYiOiJQLTI1NiIsImt0eSI6IkVDIiwieCI6ImFjYklRaXVNczNpOF91c3pFakoydHBUdFJNNEVVM3l6OTFQSDZDZEgyVjAiLCJ5IjoiX0tjeUxqOXZXTXB0bm1LdG00NkdxRHo4d2Y3NEk1TEtncmwyR3pIM25TRSJ9'
    expect(parseDidJwk(did)?.algorithm).toBe('P-256')
  })

  test.each([
    ['a fragment', `${didJwk(good)}#0`],
    ['padding', `${didJwk(`${good} `)}==`],
    ['a character outside base64url', didJwk(good).replace(/.$/, '+')],
    ['a member twice', didJwk(`{"kty":"OKP","crv":"Ed25519","x":"${'A'.repeat(43)}","x":"${x}"}`)],
    ['__proto__', didJwk(`{"__proto__":{},${good.slice(1)}`)],
    ['text after the end', didJwk(`${good}x`)],
    ['a byte order mark', didJwk(`\ufeff${good}`)],
    ['a private key', didJwk(`{"d":"${x}",${good.slice(1)}`)],
    ['an encryption key', didJwk(`{"use":"enc",${good.slice(1)}`)],
    ['a low-order key', didJwk(`{"kty":"OKP","crv":"Ed25519","x":"${'A'.repeat(43)}"}`)],
    ['a list', didJwk(`[${good}]`)],
    ['too much beside the key', didJwk(`{"kid":"${'k'.repeat(1000)}",${good.slice(1)}`)],
    ['nothing', 'did:jwk:'],
    ['another case', didJwk(good).replace('jwk', 'JWK')],
  ])('rejects %s', (_, did) => {
    expect(parseDidJwk(did)).toBeUndefined()
    expect(findDidKeys(did)).toBeUndefined()
  })

  test('rejects bytes that are not UTF-8', () => {
    const bytes = Buffer.concat([
      Buffer.from(`{"kid":"`),
      Buffer.from([0xff]),
      Buffer.from(`",${good.slice(1)}`),
    ])
    expect(parseDidJwk(`did:jwk:${bytes.toString('base64url')}`)).toBeUndefined()
  })
})

describe('did:web', () => {
  test.each([
    ['did:web:issuer.example', 'https://issuer.example/.well-known/did.json'],
    ['did:web:w3c-ccg.github.io', 'https://w3c-ccg.github.io/.well-known/did.json'],
    ['did:web:w3c-ccg.github.io:user:alice', 'https://w3c-ccg.github.io/user/alice/did.json'],
    ['did:web:issuer.example%3A8443', 'https://issuer.example:8443/.well-known/did.json'],
    ['did:web:issuer.example%3A8443:Tenants:a_b-1.2', 'https://issuer.example:8443/Tenants/a_b-1.2/did.json'],
    ['did:web:xn--bcher-kva.example', 'https://xn--bcher-kva.example/.well-known/did.json'],
    ['did:web:1.2.3.4.example', 'https://1.2.3.4.example/.well-known/did.json'],
    ['did:web:localhost%3A3000', 'https://localhost:3000/.well-known/did.json'],
  ])('finds the document of %s', (did, url) => {
    expect(parseDidWeb(did)).toEqual({ url })
  })

  test('gives a URL that a URL parser does not read differently', () => {
    for (const did of [
      'did:web:issuer.example',
      'did:web:issuer.example%3A8443:a:b',
      'did:web:issuer.example:...:.a',
    ]) {
      expect(new URL(parseDidWeb(did)?.url as string).href).toBe(parseDidWeb(did)?.url)
    }
  })

  test.each([
    ['userinfo', 'did:web:user@issuer.example'],
    ['userinfo, encoded', 'did:web:user%40issuer.example'],
    ['an IPv4 address', 'did:web:127.0.0.1'],
    ['a decimal address', 'did:web:2130706433'],
    ['a hexadecimal address', 'did:web:0x7f000001'],
    ['a short address', 'did:web:127.1'],
    ['an octal address', 'did:web:0177.0.0.1'],
    ['a hexadecimal last label', 'did:web:issuer.0x7f'],
    ['an empty hexadecimal label', 'did:web:issuer.0x'],
    ['an IPv6 address', 'did:web:[::1]'],
    ['an IPv6 address, encoded', 'did:web:%5B%3A%3A1%5D'],
    ['an upper-case host', 'did:web:Issuer.example'],
    ['a final dot', 'did:web:issuer.example.'],
    ['an empty label', 'did:web:issuer..example'],
    ['a label that starts with a hyphen', 'did:web:-issuer.example'],
    ['a label that is too long', `did:web:${'a'.repeat(64)}.example`],
    ['a host that is too long', `did:web:${'a.'.repeat(126)}example`],
    ['an underscore in the host', 'did:web:is_suer.example'],
    ['a Cyrillic letter', 'did:web:\u0430pple.com'],
    ['a plain port', 'did:web:issuer.example:8443/'],
    ['a lower-case port separator', 'did:web:issuer.example%3a8443'],
    ['port 0', 'did:web:issuer.example%3A0'],
    ['a port with a leading zero', 'did:web:issuer.example%3A08443'],
    ['port 65536', 'did:web:issuer.example%3A65536'],
    ['two ports', 'did:web:issuer.example%3A1%3A2'],
    ['no port after the separator', 'did:web:issuer.example%3A'],
    ['an empty segment', 'did:web:issuer.example::a'],
    ['an empty last segment', 'did:web:issuer.example:a:'],
    ['..', 'did:web:issuer.example:..:a'],
    ['.', 'did:web:issuer.example:.'],
    ['encoded dots', 'did:web:issuer.example:%2E%2E'],
    ['an encoded slash', 'did:web:issuer.example:a%2Fb'],
    ['an encoded backslash', 'did:web:issuer.example:a%5Cb'],
    ['a slash', 'did:web:issuer.example/a'],
    ['a backslash', 'did:web:issuer.example\\a'],
    ['a fragment', 'did:web:issuer.example#key-1'],
    ['a query', 'did:web:issuer.example?a=b'],
    ['a space', 'did:web:issuer.example '],
    ['a line end', 'did:web:issuer.example\n'],
    ['a NUL', 'did:web:issuer.example%00'],
    ['no host', 'did:web:'],
    ['only a port', 'did:web:%3A443'],
    ['another method', 'did:webvh:issuer.example'],
    ['upper case', 'DID:WEB:issuer.example'],
    ['too much', `did:web:issuer.example${':a'.repeat(600)}`],
  ])('rejects %s', (_, did) => {
    expect(parseDidWeb(did)).toBeUndefined()
  })

  test('is not a DID that carries its keys in itself', () => {
    expect(findDidKeys('did:web:issuer.example')).toBeUndefined()
  })
})
