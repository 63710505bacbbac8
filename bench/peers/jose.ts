import { importJWK, jwtVerify } from 'jose'
import type { Subject } from '../measure.ts'
import { describeLength, ISSUER, inTurn, jwt, type Sample, SITE, several } from '../sample.ts'
import { requireRejectsTampered, tamperedJwt } from './reject-tampered.ts'

/** `jwtVerify` with a key that was imported once, and the claims it can check by itself. */
export async function joseSubject(sample: Sample): Promise<Subject> {
  const { d: _, ...publicJwk } = sample.privateJwk
  const key = await importJWK({ ...publicJwk, alg: 'EdDSA' })
  const tokens = await several(1000, (n) => jwt(sample, n))
  const options = { issuer: ISSUER, audience: SITE, algorithms: ['EdDSA'] }
  const accepts = async (text: string) => (await jwtVerify(text, key, options)).payload.iss === ISSUER
  await requireRejectsTampered('jose', tokens[0], tamperedJwt, accepts)
  const next = inTurn(tokens)
  return {
    name: 'jose',
    note: `jwtVerify, EdDSA, ${describeLength(tokens[0])}`,
    async run(times) {
      for (let i = 0; i < times; i++) if (!(await accepts(next()))) throw new Error('jose refused')
    },
  }
}
