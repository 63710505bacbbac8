import { createHmac } from 'node:crypto'
import { calculateJwkThumbprint, exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose'
import { parseJwtKey } from '../../src/jwt/jwk.ts'
import { toJwtPolicy } from '../../src/log/oauth-issuer.ts'
import { SignatureCache } from '../../src/verify/signature-cache.ts'
import type { OAuthIssuer, TrustedJwtKey } from '../../src/verify/trust.ts'
import { verify } from '../../src/verify/verify.ts'
import { oauthState } from '../log/log-sample.ts'
import { createData, createDemand, NOW, PlainSite } from '../sample.ts'
import { createRandom, type Random } from './random.ts'

const ALGORITHMS = ['RS256', 'PS256', 'ES256', 'ES384', 'EdDSA'] as const
const ISSUER = oauthState(1).issuer
const AUDIENCE = oauthState(1).audience[0]
/** The order of the group of P-256, for the second valid signature of every first one. */
const P256_ORDER = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n

export interface JwtFuzzReport {
  readonly tried: number
  /** Mutants that are the text of a signed token, and ECDSA twins under the id of their token. */
  readonly unchanged: number
  readonly twins: number
  readonly faults: readonly {
    readonly mutation: string
    readonly seed: number
    readonly what: string
    readonly text: string
  }[]
  readonly codes: Readonly<Record<string, number>>
}

interface Corpus {
  /** Valid tokens, with the id under which each can be revoked. */
  readonly tokens: ReadonlyMap<string, string>
  readonly texts: readonly string[]
  readonly es256: readonly string[]
  readonly publicKeys: readonly JWK[]
  /** Signs with a key that the issuer does not have. */
  forge(claims: object, header: object): Promise<string>
}

type Mutation = (corpus: Corpus, random: Random) => string | Promise<string>

/**
 * Mutates valid access tokens `count` times. Every mutant is shown to a verifier with a cache, as a
 * guard is, and to one without: their answers must be the same, and none may accept.
 */
export async function fuzzJwts(options: {
  count: number
  seed: number
  onProgress?: (done: number) => void
  /** For the control: what the verifier without a cache is shown in place of the mutant. */
  show?: (mutant: string, corpus: Corpus) => string
}): Promise<JwtFuzzReport> {
  const { count, seed, onProgress, show = (mutant: string) => mutant } = options
  const { corpus, site } = await createCorpus()
  const guard = createData(site, { signatures: new SignatureCache({ capacity: 1024 }) })
  const plain = createData(site)
  const names = Object.keys(mutations)
  const codes: Record<string, number> = {}
  const faults: JwtFuzzReport['faults'][number][] = []
  let [unchanged, twins] = [0, 0]

  for (let i = 0; i < count; i++) {
    const random = createRandom(seed + i)
    const mutation = names[i % names.length] as string
    const mutant = (await mutations[mutation]?.(corpus, random)) ?? ''
    const answer = await answerTo(mutant, guard)
    const other = await answerTo(show(mutant, corpus), plain)
    const code = answer.id === undefined ? answer.code : 'accepted'
    codes[code] = (codes[code] ?? 0) + 1
    if (answer.code !== other.code) report(`${answer.code} with a cache, ${other.code} without`)
    else if (answer.code.startsWith('threw')) report(answer.code)
    else if (answer.id !== undefined) {
      if (corpus.tokens.get(mutant) === answer.id) unchanged++
      else if (isTwin(mutant, corpus, answer.id)) twins++
      else report('accepted')
    }
    if (i % 10_000 === 9_999) onProgress?.(i + 1)

    function report(what: string): void {
      faults.push({ mutation, seed: seed + i, what, text: mutant })
    }
  }
  return { tried: count, unchanged, twins, faults, codes }
}

async function answerTo(
  jwt: string,
  data: Parameters<typeof verify>[2],
): Promise<{ readonly code: string; readonly id?: string }> {
  try {
    const verdict = await verify({ jwt, scheme: 'Bearer' }, createDemand({ scope: [] }), data)
    if (verdict.ok) return { code: 'accepted', id: verdict.subject.credentialId }
    return { code: verdict.code }
  } catch (error) {
    return { code: `threw ${error instanceof Error ? error.message : String(error)}` }
  }
}

/** Whether only the signature differs from a signed token, and the id is the same. */
function isTwin(mutant: string, { es256, tokens }: Corpus, id: string): boolean {
  const input = mutant.slice(0, mutant.lastIndexOf('.') + 1)
  return es256.some((token) => token.startsWith(input) && tokens.get(token) === id)
}

async function createCorpus(): Promise<{ corpus: Corpus; site: PlainSite }> {
  const keys = new Map<string, TrustedJwtKey>()
  const publicKeys: JWK[] = []
  const signed: { text: string; algorithm: string }[] = []
  for (const [n, algorithm] of ALGORITHMS.entries()) {
    const pair = await generateKeyPair(algorithm, { extractable: true })
    const jwk = { ...(await exportJWK(pair.publicKey)), alg: algorithm }
    const key = parseJwtKey(jwk)
    if (key === undefined) throw new Error(`the key for ${algorithm} is not read`)
    const id = await calculateJwkThumbprint(key.jwk as JWK)
    keys.set(`${ISSUER}#${id}`, { id, kid: `key-${n}`, key, status: 'active', changedAtMs: undefined })
    publicKeys.push(jwk)
    for (const changed of [{}, { jti: undefined }, { aud: ['other', AUDIENCE], sid: 's-1' }]) {
      const claims: object = { ...createClaims(), jti: `token-${n}`, ...changed }
      const text = await new SignJWT({ ...claims })
        .setProtectedHeader({ alg: algorithm, typ: 'at+jwt', kid: `key-${n}` })
        .sign(pair.privateKey)
      signed.push({ text, algorithm })
    }
  }
  const issuer: OAuthIssuer = {
    issuer: ISSUER,
    keys,
    policy: toJwtPolicy(oauthState(1)),
    userRefFromSubject: false,
  }
  const site = new PlainSite()
  site.oauthIssuers.set(ISSUER, issuer)
  const tokens = new Map<string, string>()
  for (const { text } of signed) {
    const { id } = await answerTo(text, createData(site))
    if (id === undefined) throw new Error('a token of the corpus is not accepted')
    tokens.set(text, id)
  }
  const attacker = await generateKeyPair('ES256')
  return {
    site,
    corpus: {
      tokens,
      texts: [...tokens.keys()],
      es256: signed.filter(({ algorithm }) => algorithm === 'ES256').map(({ text }) => text),
      publicKeys,
      forge: (claims, header) =>
        new SignJWT({ ...claims }).setProtectedHeader({ alg: 'ES256', ...header }).sign(attacker.privateKey),
    },
  }
}

function createClaims() {
  const iat = NOW / 1000 - 10
  return { iss: ISSUER, sub: 'alice', aud: AUDIENCE, iat, exp: iat + 600, scope: 'orders:read' }
}

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
const HEADER_VALUES: readonly object[] = [
  { alg: 'none' },
  { alg: 'HS256' },
  { alg: 'RS256' },
  { alg: 'ES256' },
  { alg: ['ES256'] },
  { alg: null },
  { typ: 'JWT' },
  { typ: 'logout+jwt' },
  { typ: 'secevent+jwt' },
  { typ: 'dpop+jwt' },
  { kid: '../../dev/null' },
  { kid: "' OR 1=1 --" },
  { kid: 7 },
  { kid: '__proto__' },
  { jku: 'https://evil.example/keys' },
  { x5u: 'https://evil.example/cert' },
  { crit: ['exp'] },
  { b64: false },
  { enc: 'A256GCM' },
  { cty: 'JWT' },
  { zip: 'DEF' },
]
const CLAIM_VALUES: readonly object[] = [
  { sub: 'admin' },
  { scope: 'orders:refund admin:all' },
  { aud: 'https://other.example' },
  { iss: 'https://evil.example' },
  { exp: 4_000_000_000 },
  { iat: 1 },
  { nonce: 'n' },
  { events: {} },
  { cnf: { jkt: 'A'.repeat(43) } },
  { __proto__: { admin: true } },
]

const mutations: Readonly<Record<string, Mutation>> = {
  characters: ({ texts }, random) => {
    let text = random.pick(texts)
    for (let times = 1 + random.int(3); times > 0; times--) {
      const at = random.int(text.length)
      text = text.slice(0, at) + random.pick([...ALPHABET, '.', '=', '+', ' ']) + text.slice(at + 1)
    }
    return text
  },
  cut: ({ texts }, random) => {
    const text = random.pick(texts)
    return random.oneIn(2)
      ? text.slice(0, random.int(text.length))
      : `${text}${random.pick([...ALPHABET, '.', '='])}`
  },
  parts: ({ texts }, random) => {
    const [one, other] = [random.pick(texts).split('.'), random.pick(texts).split('.')]
    return [0, 1, 2].map((part) => (random.oneIn(2) ? one[part] : other[part])).join('.')
  },
  header: ({ texts }, random) => changePart(random.pick(texts), 0, random.pick(HEADER_VALUES)),
  claims: ({ texts }, random) => changePart(random.pick(texts), 1, random.pick(CLAIM_VALUES)),
  /** A member twice: parsers differ in which one they take. */
  doubled: ({ texts }, random) => {
    const part = random.int(2)
    const evil = JSON.stringify(random.pick(part === 0 ? HEADER_VALUES : CLAIM_VALUES)).slice(1, -1)
    return replacePart(random.pick(texts), part, (text) =>
      random.oneIn(2) ? `{${evil},${text.slice(1)}` : `${text.slice(0, -1)},${evil}}`,
    )
  },
  /** HMAC with the public key as its secret. */
  confused: ({ texts, publicKeys }, random) => {
    const text = changePart(random.pick(texts), 0, { alg: 'HS256' })
    const input = text.slice(0, text.lastIndexOf('.'))
    const mac = createHmac('sha256', JSON.stringify(random.pick(publicKeys))).update(input)
    return `${input}.${mac.digest('base64url')}`
  },
  unsigned: ({ texts }, random) => {
    const text = changePart(random.pick(texts), 0, { alg: random.pick(['none', 'None', 'NONE', '']) })
    return random.oneIn(2) ? text.slice(0, text.lastIndexOf('.') + 1) : text
  },
  forged: ({ forge, publicKeys }, random) =>
    forge(
      { ...createClaims(), jti: 'forged', ...random.pick([{}, ...CLAIM_VALUES]) },
      {
        typ: 'at+jwt',
        ...random.pick<object>([{}, { kid: `key-${random.int(6)}` }, { jwk: random.pick(publicKeys) }]),
      },
    ),
  twin: ({ es256 }, random) => {
    const [header, payload, signature = ''] = random.pick(es256).split('.')
    const bytes = Buffer.from(signature, 'base64url')
    const s = BigInt(`0x${bytes.subarray(32).toString('hex')}`)
    const other = Buffer.from((P256_ORDER - s).toString(16).padStart(64, '0'), 'hex')
    return `${header}.${payload}.${Buffer.concat([bytes.subarray(0, 32), other]).toString('base64url')}`
  },
}

function changePart(token: string, part: number, change: object): string {
  return replacePart(token, part, (text) => JSON.stringify({ ...JSON.parse(text), ...change }))
}

function replacePart(token: string, part: number, change: (text: string) => string): string {
  return token
    .split('.')
    .map((text, i) =>
      i === part
        ? Buffer.from(change(Buffer.from(text, 'base64url').toString())).toString('base64url')
        : text,
    )
    .join('.')
}
