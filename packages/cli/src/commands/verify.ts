import { UsageError, type Verb } from '../command.ts'
import { parseScopes } from '../input/scopes.ts'
import { parseTimeOption } from '../input/times.ts'
import { requireSite, resolveTarget } from '../service/connection.ts'

/** As the SDK's guard has it. */
const STALENESS_MS_MAX = 30_000

export const verify: Verb = {
  shares: ['credential', 'site', 'service'],
  options: [
    ['--scope <scope>', 'what the route asks for; may be repeated', 'list'],
    ['--at <time>', 'decide as if it were this time, such as 2027-01-31T12:00:00Z'],
  ],
  examples: [
    [
      'countersign verify --credential alice.json --site shop.example --scope orders:read',
      'accepted or not, and why',
    ],
    [
      'countersign verify --scope orders:read --at 2030-01-01T00:00:00Z',
      'the demo credential, years from now',
    ],
    ['countersign verify --credential a.json --scope a > /dev/null || echo rejected', 'in a script'],
  ],
  about: [
    'Takes a signed snapshot of all that the site trusts and has revoked, and decides here as the service and the SDK do. With --at only the time is another: trust and revocations are those of now. For a bound credential, --holder-key proves possession with a request of its own; without it that check is left out. Ends with 3 when it is refused.',
  ],
  async run(given, at) {
    const target = await resolveTarget(given, at, 'site')
    const siteId = requireSite(target)
    const nowMs = parseTimeOption(given.text('at'), '--at') ?? Date.now()
    const { createMemoryNonces, explain, parseScopeList } = await import('@countersign/core')
    const { chooseCredential } = await import('../credential/read-credential.ts')
    const { checksText, claimsFacts, claimsText, shownChecks } = await import('../credential/check-report.ts')
    const { loadSite } = await import('../feed/load-site.ts')
    const scope = parseScopeList(parseScopes(given) ?? [])
    if (scope === undefined) throw new UsageError('--scope must be lower-case scopes such as orders:read')
    const { header, signed, holderKey } = await chooseCredential(given, target.dev)
    const view = await loadSite(target)
    const ageMs = view.ageMs({ wallMs: Date.now(), monotonicMs: performance.now() })
    const request =
      holderKey === undefined
        ? undefined
        : await (await import('../credential/own-request.ts')).ownRequest(header, holderKey, nowMs)
    const nonces = createMemoryNonces({ startedAtMs: Number.NEGATIVE_INFINITY })
    const demand = { scope, nowMs, ...(request === undefined ? {} : { request, nonces }) }
    const explanation = await explain({ header }, demand, { site: view, ageMs, ageMsMax: STALENESS_MS_MAX })
    const isUnproven = signed.credential.holderKey !== undefined && holderKey === undefined
    const checks = shownChecks(
      explanation,
      isUnproven ? { holder: 'every request has to be signed by the key that it is bound to' } : {},
    )
    const refused = checks.find(({ result }) => result === 'denied' || result === 'skipped')
    const { epoch, seq } = view.head
    at.result(
      {
        allowed: refused === undefined,
        ...(refused === undefined ? {} : { code: refused.code ?? null, detail: refused.detail ?? null }),
        site_id: siteId,
        scope,
        at: new Date(nowMs).toISOString(),
        claims: claimsFacts(signed.credential),
        checks,
        view: { epoch, seq, age_ms: Math.round(ageMs) },
      },
      () =>
        [
          refused === undefined
            ? at.paint(
                'green',
                `Accepted at ${siteId}${isUnproven ? ', if the request is signed by the holder' : ''}.`,
              )
            : at.paint(
                'red',
                `Refused at ${siteId}: ${refused.detail ?? refused.check} (${refused.code ?? refused.result}).`,
              ),
          '',
          claimsText(signed.credential, at),
          '',
          checksText(checks),
        ].join('\n'),
    )
    return refused === undefined ? 0 : 3
  },
}
