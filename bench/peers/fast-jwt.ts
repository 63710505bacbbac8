import { createVerifier } from 'fast-jwt'
import type { Subject } from '../measure.ts'
import { describeLength, ISSUER, inTurn, jwt, type Sample, SITE, several } from '../sample.ts'
import { requireRejectsTampered, tamperedJwt } from './reject-tampered.ts'

const DAY_MS = 86_400_000

/**
 * Without its cache, and with it for one token and for a thousand. A hit of its cache checks `nbf`
 * and `exp` and nothing else.
 */
export async function fastJwtSubjects(sample: Sample): Promise<Subject[]> {
  const key = sample.publicKey.export({ format: 'pem', type: 'spki' }) as string
  const tokens = await several(1000, (n) => jwt(sample, n))
  const subject = async (name: string, shown: readonly string[], cache: number | false): Promise<Subject> => {
    // It shall forget nothing while the benchmark runs: hits are what is measured.
    const verify = createVerifier({
      key,
      algorithms: ['EdDSA'],
      allowedIss: ISSUER,
      allowedAud: SITE,
      cache,
      cacheTTL: DAY_MS,
    })
    const accepts = (text: string) => (verify(text) as { iss: string }).iss === ISSUER
    await requireRejectsTampered(name, shown[0], tamperedJwt, accepts)
    for (const token of shown) accepts(token)
    const next = inTurn(shown)
    return {
      name,
      note: `createVerifier, EdDSA, ${describeLength(shown[0])}`,
      run(times) {
        for (let i = 0; i < times; i++) if (!accepts(next())) throw new Error('fast-jwt refused')
      },
    }
  }
  return [
    await subject('fast-jwt', tokens, false),
    await subject('fast-jwt, cached, 1 token', tokens.slice(0, 1), 2048),
    await subject('fast-jwt, cached, 1,000 tokens', tokens, 2048),
  ]
}
