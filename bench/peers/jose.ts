import { importJWK, jwtVerify } from 'jose'
import type { Contestant } from '../measure.ts'
import { ISSUER, inTurn, jwt, lengthOf, type Sample, SITE, several } from '../sample.ts'
import { proveHonest, spoiledJwt } from './prove-honest.ts'

/** `jwtVerify` with a key that was imported once, and the claims it can check by itself. */
export async function joseContestant(sample: Sample): Promise<Contestant> {
  const { d: _, ...publicJwk } = sample.privateJwk
  const key = await importJWK({ ...publicJwk, alg: 'EdDSA' })
  const tokens = await several(1000, (n) => jwt(sample, n))
  const options = { issuer: ISSUER, audience: SITE, algorithms: ['EdDSA'] }
  const accepts = async (text: string) => (await jwtVerify(text, key, options)).payload.iss === ISSUER
  await proveHonest('jose', tokens[0], spoiledJwt, accepts)
  const next = inTurn(tokens)
  return {
    name: 'jose',
    note: `jwtVerify, EdDSA, ${lengthOf(tokens[0])}`,
    async run(times) {
      for (let i = 0; i < times; i++) if (!(await accepts(next()))) throw new Error('jose refused')
    },
  }
}
