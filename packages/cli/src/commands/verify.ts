import type { Demand, PresentedJwt, RevocationData } from '@countersign/core'
import { type Given, UsageError, type Verb } from '../command.ts'
import type { CheckResult } from '../credential/check-report.ts'
import { parseScopes } from '../input/scopes.ts'
import { parseTimeOption } from '../input/times.ts'
import { connect, type DevFile, requireSite } from '../service/connection.ts'
import type { Terminal } from '../terminal/output.ts'

/** The default of the SDK's guard. */
const STALENESS_MS_MAX = 30_000

export const verify: Verb = {
  shares: ['credential', 'site', 'service'],
  options: [
    ['--scope <scope>', 'a scope that the route requires; may be repeated', 'list'],
    ['--at <time>', 'decide for this time, such as 2027-01-31T12:00:00Z; default: now'],
  ],
  examples: [
    [
      'countersign verify --credential alice.json --site shop.example --scope orders:read',
      'print whether the site accepts it, and why',
    ],
    [
      'countersign verify --scope orders:read --at 2030-01-01T00:00:00Z',
      'check the demo credential for a time in the future',
    ],
    [
      'countersign verify --credential a.json --scope a > /dev/null || echo rejected',
      'use the exit code in a script',
    ],
  ],
  about: [
    'Loads a signed snapshot of the trust and the revocations of the site, and decides on this machine, as the service and the SDK do. --at changes only the time: trust and revocations are current. For a bound credential, --holder-key signs a request to prove possession; without it that check is left out. The exit code is 3 when the credential is rejected.',
    'The file of --credential may also contain a JWT access token of an OAuth issuer that the site trusts.',
  ],
  async run(given, at) {
    const target = await connect(given, at)
    const siteId = requireSite(target)
    const nowMs = parseTimeOption(given.text('at'), '--at') ?? Date.now()
    const { parseScopeList } = await import('@countersign/core')
    const { readGivenText } = await import('../credential/read-credential.ts')
    const { checksText } = await import('../credential/check-report.ts')
    const { findJwt } = await import('../credential/access-token.ts')
    const { loadSite } = await import('../feed/load-site.ts')
    const scope = parseScopeList(parseScopes(given) ?? [])
    if (scope === undefined) throw new UsageError('--scope must be lower-case scopes such as orders:read')
    const text = await readGivenText(given)
    const jwt = text === undefined ? undefined : findJwt(text)
    const check =
      jwt === undefined ? await prepareCredential(given, target.dev, text, at) : await prepareJwt(jwt)
    const view = await loadSite(target)
    const ageMs = view.ageMs({ wallMs: Date.now(), monotonicMs: performance.now() })
    const checks = await check.run({ scope, nowMs }, { site: view, ageMs, ageMsMax: STALENESS_MS_MAX })
    const rejected = checks.find(({ result }) => result === 'denied' || result === 'skipped')
    const { epoch, seq } = view.head
    at.result(
      {
        allowed: rejected === undefined,
        ...(rejected === undefined ? {} : { code: rejected.code ?? null, detail: rejected.detail ?? null }),
        site_id: siteId,
        scope,
        at: new Date(nowMs).toISOString(),
        claims: check.claims,
        checks,
        view: { epoch, seq, age_ms: Math.round(ageMs) },
      },
      () =>
        [
          rejected === undefined
            ? at.paint('green', `Accepted at ${siteId}${check.condition}.`)
            : at.paint(
                'red',
                `Rejected at ${siteId}: ${rejected.detail ?? rejected.check} (${rejected.code ?? rejected.result})`,
              ),
          '',
          check.claimsText,
          '',
          checksText(checks),
        ].join('\n'),
    )
    return rejected === undefined ? 0 : 3
  },
}

/** What is verified: a credential or an access token. */
interface PreparedCheck {
  readonly claims: unknown
  readonly claimsText: string
  /** What the sender of a request must do besides, after "Accepted at …". */
  readonly condition: string
  run(demand: Pick<Demand, 'scope' | 'nowMs'>, data: RevocationData): Promise<readonly CheckResult[]>
}

async function prepareCredential(
  given: Given,
  dev: DevFile | undefined,
  text: string | undefined,
  at: Terminal,
): Promise<PreparedCheck> {
  const { createMemoryNonces, explain } = await import('@countersign/core')
  const { chooseCredential } = await import('../credential/read-credential.ts')
  const { claimsFacts, claimsText, toCheckReport } = await import('../credential/check-report.ts')
  const { header, signed, holderKey } = await chooseCredential(given, dev, text)
  const isUnproven = signed.credential.holderKey !== undefined && holderKey === undefined
  return {
    claims: claimsFacts(signed.credential),
    claimsText: claimsText(signed.credential, at),
    condition: isUnproven ? ', if the request is signed by the holder' : '',
    async run({ scope, nowMs }, data) {
      const request =
        holderKey === undefined
          ? undefined
          : await (await import('../credential/own-request.ts')).signOwnRequest(header, holderKey, nowMs)
      const nonces = createMemoryNonces({ startedAtMs: Number.NEGATIVE_INFINITY })
      const demand = { scope, nowMs, ...(request === undefined ? {} : { request, nonces }) }
      return toCheckReport(
        await explain({ header }, demand, data),
        isUnproven ? { holder: 'The holder must sign every request with the key of the credential.' } : {},
      )
    },
  }
}

async function prepareJwt(jwt: PresentedJwt): Promise<PreparedCheck> {
  const { explain } = await import('@countersign/core')
  const { isBound, jwtClaims, jwtClaimsText, toJwtReport } = await import('../credential/access-token.ts')
  return {
    claims: jwtClaims(jwt),
    claimsText: jwtClaimsText(jwt),
    condition: isBound(jwt) ? ', if the request has a DPoP proof of the holder' : '',
    run: async (demand, data) => toJwtReport(await explain(jwt, demand, data), jwt),
  }
}
