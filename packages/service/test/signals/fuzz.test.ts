import { createHmac } from 'node:crypto'
import type { SiteId } from '@countersign/core'
import type { SignalType } from '@countersign/core/contract'
import { expect, test } from 'vitest'
import { createRandom, type Random } from '../../../core/test/fuzz/random.ts'
import { type AdminNode, newSiteId, openAdminNode } from '../admin-node.ts'
import { NOW } from '../party.ts'
import { forEachSharedStore } from '../stores.ts'
import {
  connectSignals,
  goodToken,
  LOGOUT,
  newSender,
  newSigner,
  SESSION_REVOKED,
  send,
  type TestSigner,
  trustIdp,
} from './test-sender.ts'

/** `npm run fuzz-signals` tries 10,000 on each store. */
const COUNT = Number(process.env.FUZZ_SIGNALS ?? 300)
const SEED = Number(process.env.FUZZ_SEED ?? 1)
const RUN_MS_MAX = 600_000
const TYPES = ['backchannel_logout', 'token_revocation', 'events'] as const
const AT = Math.floor(NOW / 1000)

type Members = Readonly<Record<string, unknown>>
interface Mutant {
  readonly header: Members
  readonly claims: Members
}
interface Forger {
  readonly own: TestSigner
  readonly other: TestSigner
  readonly siteId: SiteId
}
type Mutate = (type: SignalType, random: Random, forger: Forger) => Promise<string>

const toPart = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')

/** Each makes a signal of the right sender invalid. */
const VIOLATIONS: readonly ((type: SignalType, mutant: Mutant) => Mutant)[] = [
  ...['nonce', 'at_hash', 'c_hash', 's_hash'].map((name) => change({ [name]: 'x' })),
  ...[undefined, 7, '', 'a b', 'x'.repeat(257)].map((jti) => change({ jti })),
  ...[undefined, 7, 'https://else.example', 'https://idp.example/realms/acme/'].map((iss) => change({ iss })),
  ...[undefined, 'else', [], { x: 1 }, ['else', 7]].map((aud) => change({ aud })),
  ...[undefined, 'now', 1.5, AT + 60, AT - 8 * 86_400].map((iat) => change({ iat })),
  ...[AT, 'later', 0].map((exp) => change({ exp })),
  change({ nbf: AT + 60 }),
  (type, { header, claims }) => ({
    header,
    claims: {
      ...claims,
      events: type === 'backchannel_logout' ? { [SESSION_REVOKED]: {} } : { [LOGOUT]: {} },
    },
  }),
  (type, mutant) =>
    type === 'token_revocation' ? change({ scope: 'x' })(type, mutant) : change({ events: {} })(type, mutant),
  ...['at+jwt', 'dpop+jwt', 'none', 7].map((typ) => changeHeader({ typ })),
  ...['jku', 'x5u', 'x5c', 'jwk', 'crit', 'b64', 'cty', 'zip'].map((name) => changeHeader({ [name]: 'x' })),
  ...['else', '', '../../etc/passwd', "' OR 1=1 --"].map((kid) => changeHeader({ kid })),
]

function change(claims: Members) {
  return (_type: SignalType, mutant: Mutant): Mutant => ({
    ...mutant,
    claims: { ...mutant.claims, ...claims },
  })
}

function changeHeader(header: Members) {
  return (_type: SignalType, mutant: Mutant): Mutant => ({
    ...mutant,
    header: { ...mutant.header, ...header },
  })
}

const mutations: Readonly<Record<string, Mutate>> = {
  async bit(type, random, { own, siteId }) {
    const parts = (await sign(own, type, siteId)).split('.')
    const at = random.int(3)
    const bytes = Buffer.from(parts[at] as string, 'base64url')
    const byte = random.int(bytes.length)
    bytes[byte] = (bytes[byte] as number) ^ (1 << random.int(8))
    parts[at] = bytes.toString('base64url')
    return parts.join('.')
  },
  async text(type, random, { own, siteId }) {
    const token = await sign(own, type, siteId)
    const at = random.int(token.length)
    const piece = random.pick(['', '.', '=', ' ', '%', 'A', '\u0000', token.slice(at, at + 8).repeat(2)])
    const mutant = `${token.slice(0, at)}${piece}${token.slice(at + 1)}`
    return mutant === token ? `${token}.` : mutant
  },
  async violation(type, random, { own, siteId }) {
    const { header, claims } = random.pick(VIOLATIONS)(type, goodToken(type, siteId))
    if (!('crit' in header || 'b64' in header)) return own.sign(claims, header)
    // jose signs no such header, so the signature is that of another text.
    const [, ...rest] = (await own.sign(claims, {})).split('.')
    return [toPart({ alg: 'ES256', kid: own.kid, ...header }), ...rest].join('.')
  },
  async otherKey(type, random, { own, other, siteId }) {
    const { header, claims } = goodToken(type, siteId)
    return other.sign(claims, { ...header, kid: random.pick([own.kid, other.kid, undefined]) })
  },
  async otherType(type, random, { own, siteId }) {
    return sign(own, random.pick(TYPES.filter((each) => each !== type)), siteId)
  },
  async weakAlgorithm(type, random, { own, siteId }) {
    const { header, claims } = goodToken(type, siteId)
    const alg = random.pick(['none', 'None', 'HS256', 'HS512', 'RS256', 'ES384', 'ES256K', ''])
    const input = `${toPart({ alg, kid: own.kid, ...header })}.${toPart(claims)}`
    const mac = createHmac('sha256', JSON.stringify(own.jwk)).update(input).digest('base64url')
    return `${input}.${random.pick(['', mac, 'AAAA'])}`
  },
  async splice(type, _random, { own, siteId }) {
    const [one, two] = [await sign(own, type, siteId), await sign(own, type, siteId)].map((text) =>
      text.split('.'),
    )
    return `${one?.[0]}.${two?.[1]}.${one?.[2]}`
  },
}

function sign(signer: TestSigner, type: SignalType, siteId: SiteId): Promise<string> {
  const { header, claims } = goodToken(type, siteId)
  return signer.sign(claims, header)
}

forEachSharedStore('mutated signals', (open) => {
  test(`of ${COUNT} none is acted on, and none is a fault of the service (A284, A285, A291, A292)`, {
    tags: 'long',
    timeout: RUN_MS_MAX,
  }, async () => {
    const siteId = newSiteId()
    const node: AdminNode = await openAdminNode(open(), siteId)
    await node.admin('create_site', { body: { site_id: siteId } })
    connectSignals(node)
    const forger = { own: await newSigner(), other: await newSigner(), siteId }
    await trustIdp(node, siteId, { keys: [forger.own], signals: TYPES.map((type) => newSender(type)) })
    const head = () => node.deps.views.view(siteId)?.head.seq ?? 0
    const names = Object.keys(mutations)
    const before = head()
    for (let i = 0; i < COUNT; i++) {
      const random = createRandom(SEED + i)
      const [name, type] = [names[i % names.length] as string, random.pick(TYPES)]
      const token = await (mutations[name] as Mutate)(type, random, forger)
      const { status } = await send(node, type, siteId, token)
      expect(status >= 400 && status < 500, `${name} ${type} ${SEED + i} ${status} ${token}`).toBe(true)
    }
    expect(head()).toBe(before)
    // The control: the same signals, not mutated.
    for (const type of TYPES)
      expect((await send(node, type, siteId, await sign(forger.own, type, siteId))).status).toBeLessThan(300)
    expect(head()).toBe(before + TYPES.length)
  })
})
