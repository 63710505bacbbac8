import { isJwtForm } from '@countersign/core'
import type { Random } from '../../core/test/fuzz/random.ts'
import type { TestAccessToken, TestOAuthIssuer, TestSite } from '../src/testing/index.ts'

/** Access tokens of two OAuth issuers, of which the site trusts the second one now and then. */
export interface JwtWorld {
  issue(): Promise<void>
  /** What may happen to a log between two presentations. */
  readonly changes: readonly (() => Promise<unknown>)[]
  /** Any token that a caller may send, whole or changed. */
  something(): Promise<{ what: string; headers: Readonly<Record<string, string>>; isToken?: boolean }>
}

const SESSIONS = 30

export async function createJwtWorld(
  site: TestSite,
  random: Random,
  route: string,
  someUser: () => string,
): Promise<JwtWorld> {
  const conditions = { session_claim: 'sid', token_ttl_seconds_max: 7_200 }
  const first = await site.trustOAuthIssuer({ ...conditions, issuer: 'https://one.example' })
  const second = await site.trustOAuthIssuer({
    ...conditions,
    issuer: 'https://two.example/realms/a',
    algorithm: 'EdDSA',
    scope_map: { read: ['orders:read'] },
    scope: ['orders:read', 'admin'],
  })
  const issuers: readonly TestOAuthIssuer[] = [first, second]
  const tokens: { readonly issuer: TestOAuthIssuer; readonly token: TestAccessToken }[] = []
  let lastProven: Record<string, string> | undefined

  const issue = async () => {
    const issuer = random.pick(issuers)
    const token = await issuer.sign({
      subject: someUser(),
      scope: random.pick(['orders:read', 'orders:read orders:write', 'read', 'admin unknown', '']),
      session: `s-${random.int(SESSIONS)}`,
      ttlSeconds: random.oneIn(5) ? 60 + random.int(600) : 7_200,
      bound: random.oneIn(4),
      ...(random.oneIn(8) && { claims: { jti: undefined } }),
      ...(random.oneIn(12) && { header: { typ: 'JWT' } }),
      ...(random.oneIn(12) && { claims: { aud: 'https://other.example' } }),
    })
    if (tokens.length < 80) tokens.push({ issuer, token })
    else tokens[random.int(tokens.length)] = { issuer, token }
  }
  for (let i = 0; i < 40; i++) await issue()

  return {
    issue,
    changes: [
      () => random.pick(issuers).revokeUser(someUser()),
      () => random.pick(issuers).signOutUser(someUser()),
      () => random.pick(issuers).endSession(`s-${random.int(SESSIONS)}`),
      async () => {
        const { issuer, token } = random.pick(tokens)
        if (token.claims.jti !== undefined) await issuer.revokeToken(token)
      },
      async () => {
        const { token } = random.pick(tokens)
        if (token.holderThumbprint !== undefined) await site.revokeHolder(token)
      },
      () => (random.oneIn(4) ? random.pick(issuers).cutOff() : issue()),
      () => (random.oneIn(2) ? second.distrust() : second.trust()),
      async () => {
        await first.rotateKey()
        if (random.oneIn(2)) await first.trust()
      },
      () => first.trust({ scope: random.oneIn(2) ? null : ['orders:read'] }),
      () => (random.oneIn(6) ? second.compromiseKey().then(() => second.rotateKey()) : second.trust()),
    ],
    async something() {
      const { issuer, token } = random.pick(tokens)
      const what = `access token of ${issuer.issuer}`
      switch (random.int(10)) {
        case 0: {
          const at = random.int(token.jwt.length)
          const jwt = token.jwt.slice(0, at) + random.pick([...'Aa0-_.']) + token.jwt.slice(at + 1)
          // Without the form of a JWT it is looked up like a token of the service.
          const isToken = !isJwtForm(jwt)
          return { what: `${what}, changed`, headers: { authorization: `Bearer ${jwt}` }, isToken }
        }
        case 1:
          return { what: `${what}, as DPoP`, headers: { authorization: `DPoP ${token.jwt}` } }
        case 2:
          lastProven = await token.headersFor('GET', route)
          return { what: `${what}, with its proof`, headers: lastProven }
        case 3:
          return { what: 'a proof, again', headers: lastProven ?? {} }
        case 4:
          return { what: `${what}, wrong proof`, headers: await token.headersFor('POST', route) }
        default:
          return { what, headers: { authorization: `Bearer ${token.jwt}` } }
      }
    },
  }
}
