import { createHash, generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import {
  type JwtKey,
  OAUTH_ISSUER_DEFAULTS,
  parseJwtKey,
  SignatureCache,
  type SiteView,
  toKeyText,
  toThumbprint,
  verify,
} from '@countersign/core'
import { createVerifier } from 'fast-jwt'
import { jwtVerify } from 'jose'
import { type Measured, type MeasureOptions, measure, type Subject } from './measure.ts'
import { warm as warmCredential } from './ours.ts'
import { requireRejectsTampered, tamperedJwt } from './peers/reject-tampered.ts'
import { rawVerify } from './raw-verify.ts'
import { createSample, describeLength, inTurn, READ, required, type Sample, SITE, several } from './sample.ts'
import { atMost, type Verdict } from './verdict.ts'

const ALGORITHMS = ['RS256', 'ES256', 'EdDSA'] as const
type Algorithm = (typeof ALGORITHMS)[number]
const ISSUER = 'https://idp.example/realms/acme'
const AUDIENCE = 'https://api.shop.example'
const TOKENS = 1000
const DAY_MS = 86_400_000

interface JwtSample {
  readonly algorithm: Algorithm
  readonly publicKey: KeyObject
  readonly tokens: readonly string[]
}

export interface JwtResult {
  readonly rows: readonly Measured[]
  readonly verdicts: readonly Verdict[]
}

export interface BenchJwtOptions {
  readonly onProgress?: (what: string, done: number, all: number) => void
  readonly measure?: Omit<MeasureOptions, 'onRound'>
}

/** Access tokens of OAuth issuers, cold and warm, beside a credential, jose and fast-jwt. */
export async function benchJwt({ onProgress, measure: options }: BenchJwtOptions = {}): Promise<JwtResult> {
  const sample = await createSample(Date.now())
  sample.view.subjectKey = createHash('sha256').update('bench').digest()
  const raw = rawVerify(sample)
  const subjects: Subject[] = [
    raw,
    await warmCredential(sample, await several(TOKENS, sample.header), 16_384),
  ]
  for (const algorithm of ALGORITHMS) {
    const jwts = await createJwts(sample, algorithm)
    subjects.push(ours(sample.view, jwts, 'cold'), await warm(sample.view, jwts), await jose(jwts))
    subjects.push(await fastJwt(jwts, false), await fastJwt(jwts, TOKENS * 2))
  }
  const onRound = (done: number, all: number) => onProgress?.('access tokens, round', done, all)
  const rows = await measure(raw, subjects, { ...options, onRound })
  return { rows, verdicts: ALGORITHMS.flatMap((algorithm) => verdictsOn(algorithm, rows)) }
}

function verdictsOn(algorithm: Algorithm, rows: readonly Measured[]): Verdict[] {
  const named = (name: string) => required(rows.find((row) => row.name === name))
  const credential = named('ours, warm, 1,000 headers')
  const [warm, cold] = [named(`${algorithm}, ours, warm`), named(`${algorithm}, ours, cold`)]
  const peer = named(`${algorithm}, jose`)
  return [
    atMost(
      `${algorithm} warm ≤ 1.3 × a credential`,
      1.3,
      warm.ratio / credential.ratio,
      warm.quietRatio / credential.quietRatio,
    ),
    atMost(
      `${algorithm} cold ≤ 1.25 × jose`,
      1.25,
      cold.ratio / peer.ratio,
      cold.quietRatio / peer.quietRatio,
    ),
  ]
}

function createKeys(algorithm: Algorithm): { publicKey: KeyObject; privateKey: KeyObject } {
  if (algorithm === 'RS256') return generateKeyPairSync('rsa', { modulusLength: 2048 })
  if (algorithm === 'ES256') return generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return generateKeyPairSync('ed25519')
}

/** Tokens as an identity provider makes them; the site of the sample trusts their issuer. */
async function createJwts(sample: Sample, algorithm: Algorithm): Promise<JwtSample> {
  const { publicKey, privateKey } = createKeys(algorithm)
  const jwk = { ...publicKey.export({ format: 'jwk' }), alg: algorithm }
  const key: JwtKey = required(parseJwtKey(jwk))
  sample.view.oauthIssuers.trust(
    {
      ...OAUTH_ISSUER_DEFAULTS,
      issuer: `${ISSUER}/${algorithm}`,
      keys: [{ id: await toThumbprint(key.jwk), kid: 'key-1', key: toKeyText(key), status: 'active' }],
      audience: [AUDIENCE],
    },
    Date.now(),
  )
  const iat = sample.validFromMs / 1000
  const tokens = Array.from({ length: TOKENS }, (_, n) => {
    const claims = {
      iss: `${ISSUER}/${algorithm}`,
      sub: `7d4c1a52-0f1c-4c8e-9a43-${String(n).padStart(12, '0')}`,
      aud: AUDIENCE,
      client_id: 'shop-web',
      jti: `0b6c34a1-5d0e-4b6f-8f5e-${String(n).padStart(12, '0')}`,
      iat,
      exp: iat + 3600,
      scope: `openid profile ${READ}`,
      site: SITE,
    }
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
    const input = `${part({ alg: algorithm, typ: 'at+jwt', kid: 'key-1' })}.${part(claims)}`
    const digest = algorithm === 'EdDSA' ? null : 'sha256'
    const signature = sign(digest, Buffer.from(input), { key: privateKey, dsaEncoding: 'ieee-p1363' })
    return Buffer.from(`${input}.${signature.toString('base64url')}`, 'latin1').toString('latin1')
  })
  return { algorithm, publicKey, tokens }
}

function ours(
  view: SiteView,
  { algorithm, tokens }: JwtSample,
  name: string,
  signatures?: SignatureCache,
): Subject {
  const next = inTurn(tokens)
  return {
    name: `${algorithm}, ours, ${name}`,
    note: `all checks, ${describeLength(tokens[0])}`,
    async run(times) {
      for (let i = 0; i < times; i++) await decide(next(), view, signatures)
    },
  }
}

async function warm(view: SiteView, jwts: JwtSample): Promise<Subject> {
  const signatures = new SignatureCache()
  for (const token of jwts.tokens) await decide(token, view, signatures)
  if (signatures.jwts.size !== jwts.tokens.length) throw new Error('not all tokens were remembered')
  return ours(view, jwts, 'warm', signatures)
}

async function decide(jwt: string, site: SiteView, signatures: SignatureCache | undefined): Promise<void> {
  const nowMs = Date.now()
  const ageMs = site.ageMs({ wallMs: nowMs, monotonicMs: performance.now() })
  const data = { site, ageMs, ageMsMax: DAY_MS, ...(signatures === undefined ? {} : { signatures }) }
  const verdict = await verify({ jwt, scheme: 'Bearer' }, { scope: [READ], nowMs }, data)
  if (!verdict.ok) throw new Error(`our own access token was denied: ${verdict.code}`)
}

async function jose({ algorithm, publicKey, tokens }: JwtSample): Promise<Subject> {
  const options = { issuer: `${ISSUER}/${algorithm}`, audience: AUDIENCE, algorithms: [algorithm] }
  const accepts = async (text: string) =>
    (await jwtVerify(text, publicKey, options)).payload.iss === options.issuer
  await requireRejectsTampered('jose', tokens[0], tamperedJwt, accepts)
  const next = inTurn(tokens)
  return {
    name: `${algorithm}, jose`,
    note: 'jwtVerify, no revocation',
    async run(times) {
      for (let i = 0; i < times; i++) if (!(await accepts(next()))) throw new Error('jose rejects it')
    },
  }
}

async function fastJwt({ algorithm, publicKey, tokens }: JwtSample, cache: number | false): Promise<Subject> {
  const issuer = `${ISSUER}/${algorithm}`
  const accept = createVerifier({
    key: publicKey.export({ format: 'pem', type: 'spki' }) as string,
    algorithms: [algorithm],
    allowedIss: issuer,
    allowedAud: AUDIENCE,
    cache,
    cacheTTL: DAY_MS,
  })
  const accepts = (text: string) => (accept(text) as { iss: string }).iss === issuer
  await requireRejectsTampered('fast-jwt', tokens[0], tamperedJwt, accepts)
  for (const token of tokens) accepts(token)
  const next = inTurn(tokens)
  return {
    name: `${algorithm}, fast-jwt${cache === false ? '' : ', cached'}`,
    note: cache === false ? 'createVerifier, no revocation' : 'the cache looks at times only',
    run(times) {
      for (let i = 0; i < times; i++) if (!accepts(next())) throw new Error('fast-jwt rejects it')
    },
  }
}
