import {
  type Explanation,
  isJwtForm,
  type JsonObject,
  type PresentedJwt,
  readJwt,
  type UnverifiedJwt,
} from '@countersign/core'
import { facts, jsonText, type Terminal } from '../terminal/output.ts'
import { type CheckResult, checksText, type NotChecked, toCheckReport } from './check-report.ts'

const AUTHORIZATION = /^(?:authorization:\s*)?(?:(bearer|dpop)\s+)?(\S+)$/i

/** The access token in a text: alone, or as an Authorization header. Undefined for other texts. */
export function findJwt(text: string): PresentedJwt | undefined {
  const [, scheme = '', jwt = ''] = AUTHORIZATION.exec(text.trim()) ?? []
  if (!isJwtForm(jwt)) return undefined
  return { jwt, scheme: scheme.toLowerCase() === 'dpop' ? 'DPoP' : 'Bearer' }
}

/** Prints the header and the claims of an access token. Returns the exit code. */
export function inspectJwt({ jwt }: PresentedJwt, nowMs: number, at: Terminal): 0 | 3 {
  const read = readJwt(jwt)
  const checks = checkOffline(read, nowMs)
  at.result(
    {
      verified: false,
      signature: 'not_checked',
      header: read?.header ?? null,
      claims: read?.claims ?? null,
      checks,
    },
    () =>
      [
        at.paint('red', 'UNVERIFIED: the keys of the issuer are unknown here. Anyone can have written it.'),
        '',
        ...(read === undefined ? [] : [jsonText(read.header, 2), jsonText(read.claims, 2), '']),
        checksText(checks),
      ].join('\n'),
  )
  return checks.some(({ result }) => result === 'denied') ? 3 : 0
}

/** Only the encoding and the expiry can be checked without the data of a site. */
function checkOffline(read: UnverifiedJwt | undefined, nowMs: number): readonly CheckResult[] {
  const code = 'token_invalid'
  const unsigned = { trustworthy: false } as const
  if (read === undefined) {
    const detail = 'The text is not a signed JWT that is accepted. Copy it again, without any change.'
    return [{ check: 'reading', result: 'denied', code, detail, ...unsigned }]
  }
  const { exp } = read.claims
  const isExpired = typeof exp !== 'number' || !(nowMs < exp * 1000)
  const needsSite = { result: 'not_checked', detail: 'Use countersign verify.', ...unsigned } as const
  return [
    { check: 'reading', result: 'passed', ...unsigned },
    ...['issuer', 'key', 'signature', 'claims'].map((check) => ({ check, ...needsSite })),
    isExpired
      ? { check: 'time', result: 'denied', code, detail: 'The token has expired.', ...unsigned }
      : { check: 'time', result: 'passed', ...unsigned },
    ...['revocation', 'scope', 'holder'].map((check) => ({ check, ...needsSite })),
  ]
}

/**
 * The checks of a token with the data of a site. Without the key of the holder there is no
 * DPoP proof.
 */
export function toJwtReport(explanation: Explanation, jwt: PresentedJwt): readonly CheckResult[] {
  const notChecked: NotChecked = isBound(jwt)
    ? { holder: 'The holder must send a DPoP proof with every request.' }
    : {}
  return toCheckReport(explanation, notChecked)
}

export function isBound({ jwt }: PresentedJwt): boolean {
  return readJwt(jwt)?.claims.cnf !== undefined
}

/** The claims of a token, for programs; null if it cannot be read. */
export function jwtClaims({ jwt }: PresentedJwt): JsonObject | null {
  return readJwt(jwt)?.claims ?? null
}

/** The claims of a token, for people. */
export function jwtClaimsText(jwt: PresentedJwt): string {
  const claims = jwtClaims(jwt) ?? {}
  const text = (name: string) => {
    const value = claims[name]
    return value === undefined ? undefined : typeof value === 'string' ? value : JSON.stringify(value)
  }
  const time = (name: string) => {
    const seconds = claims[name]
    const isTime = typeof seconds === 'number' && Math.abs(seconds) < 8e12
    return isTime ? new Date(seconds * 1000).toISOString().replace('.000Z', 'Z') : undefined
  }
  return facts([
    ['issuer', text('iss')],
    ['subject', text('sub')],
    ['audience', text('aud')],
    ['client', text('client_id') ?? text('azp')],
    ['scope', text('scope')],
    ['jti', text('jti')],
    ['issued', time('iat')],
    ['expires', time('exp')],
    ['bound to', text('cnf') ?? 'no key: anyone who has it can use it'],
  ])
}
