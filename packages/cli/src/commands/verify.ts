import { UsageError, type Verb } from '../command.ts'
import { parseScopes } from '../input/scopes.ts'
import { parseTimeOption } from '../input/times.ts'
import { requireSite, resolveTarget } from '../service/connection.ts'

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
  ],
  async run(given, at) {
    const target = await resolveTarget(given, at, 'site')
    const siteId = requireSite(target)
    const nowMs = parseTimeOption(given.text('at'), '--at') ?? Date.now()
    const { createMemoryNonces, explain, parseScopeList } = await import('@countersign/core')
    const { chooseCredential } = await import('../credential/read-credential.ts')
    const { checksText, claimsFacts, claimsText, toCheckReport } = await import(
      '../credential/check-report.ts'
    )
    const { loadSite } = await import('../feed/load-site.ts')
    const scope = parseScopeList(parseScopes(given) ?? [])
    if (scope === undefined) throw new UsageError('--scope must be lower-case scopes such as orders:read')
    const { header, signed, holderKey } = await chooseCredential(given, target.dev)
    const view = await loadSite(target)
    const ageMs = view.ageMs({ wallMs: Date.now(), monotonicMs: performance.now() })
    const request =
      holderKey === undefined
        ? undefined
        : await (await import('../credential/own-request.ts')).signOwnRequest(header, holderKey, nowMs)
    const nonces = createMemoryNonces({ startedAtMs: Number.NEGATIVE_INFINITY })
    const demand = { scope, nowMs, ...(request === undefined ? {} : { request, nonces }) }
    const explanation = await explain({ header }, demand, { site: view, ageMs, ageMsMax: STALENESS_MS_MAX })
    const isUnproven = signed.credential.holderKey !== undefined && holderKey === undefined
    const checks = toCheckReport(
      explanation,
      isUnproven ? { holder: 'The holder must sign every request with the key of the credential.' } : {},
    )
    const rejected = checks.find(({ result }) => result === 'denied' || result === 'skipped')
    const { epoch, seq } = view.head
    at.result(
      {
        allowed: rejected === undefined,
        ...(rejected === undefined ? {} : { code: rejected.code ?? null, detail: rejected.detail ?? null }),
        site_id: siteId,
        scope,
        at: new Date(nowMs).toISOString(),
        claims: claimsFacts(signed.credential),
        checks,
        view: { epoch, seq, age_ms: Math.round(ageMs) },
      },
      () =>
        [
          rejected === undefined
            ? at.paint(
                'green',
                `Accepted at ${siteId}${isUnproven ? ', if the request is signed by the holder' : ''}.`,
              )
            : at.paint(
                'red',
                `Rejected at ${siteId}: ${rejected.detail ?? rejected.check} (${rejected.code ?? rejected.result})`,
              ),
          '',
          claimsText(signed.credential, at),
          '',
          checksText(checks),
        ].join('\n'),
    )
    return rejected === undefined ? 0 : 3
  },
}
