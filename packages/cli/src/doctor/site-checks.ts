import type { Client, CredentialObject } from '@countersign/sdk'
import type { DevFile } from '../service/connection.ts'
import { type Finding, ok, problem, skipped, warning } from './finding.ts'

const PAGE = 200
const DELIVERIES_LOOKED_AT = 20

/**
 * Checks that the key works and may read this site. Otherwise the other checks of the site
 * are left out.
 */
export async function checkKey(client: Client, siteId: string): Promise<Finding> {
  try {
    await client.readSite({ site_id: siteId })
    return ok('key', `The key may read the data of ${siteId}.`)
  } catch (fault) {
    const { code, message } = fault as Error & { code?: string }
    if (code === 'api_key_forbidden')
      return warning(
        'key',
        'The key is valid, but may not read the data of the site.',
        'Use a key with site:read to check webhooks and verifiers too.',
      )
    if (code === 'api_key_missing')
      return skipped('key', 'This check needs COUNTERSIGN_API_KEY or COUNTERSIGN_API_KEY_FILE.')
    if (code === 'not_found')
      return problem('key', `This key has no site ${siteId}.`, 'Check --site and the key.')
    return problem('key', message, 'Check whether the key is deleted, expired, or of another service.')
  }
}

/** Finds webhooks that are disabled, and webhooks whose deliveries fail. */
export async function checkWebhooks(client: Client, site_id: string): Promise<readonly Finding[]> {
  const { items } = await client.listWebhooks({ site_id, limit: PAGE })
  const findings: Finding[] = []
  for (const { webhook_id, url, status } of items) {
    if (status !== 'on') {
      findings.push(
        problem(
          'webhooks',
          `${webhook_id} (${url}) is ${status} after days of failure.`,
          `Fix the receiver, then create the webhook again: countersign webhooks delete ${webhook_id}; countersign webhooks create ${url}`,
        ),
      )
      continue
    }
    const { items: deliveries } = await client.listDeliveries({
      site_id,
      webhook_id,
      limit: DELIVERIES_LOOKED_AT,
    })
    const failing = deliveries.filter(
      (each) => each.status === 'failed' || (each.status === 'pending' && each.attempts > 0),
    )
    const [worst] = failing
    if (worst !== undefined) {
      const answer = worst.last_status === null ? 'without a response' : `with status ${worst.last_status}`
      const words = `${webhook_id} (${url}): ${failing.length} of the last ${deliveries.length} deliveries failed, the latest ${answer}.`
      findings.push(
        problem(
          'webhooks',
          words,
          `Fix the receiver. Then list the deliveries and replay those that failed: countersign webhooks deliveries ${webhook_id}`,
        ),
      )
    }
  }
  if (findings.length > 0) return findings
  return [
    ok(
      'webhooks',
      items.length === 0 ? 'The site has no webhooks.' : `Webhooks: ${items.length}. None of them fails.`,
    ),
  ]
}

/** Keys are fetched every five minutes, and removed after 24 hours by default. */
const KEYS_AGE_MS_MAX = 3_600_000

/** Finds trusted issuers whose keys could not be fetched for more than an hour. */
export async function checkIssuerKeys(
  client: Pick<Client, 'listIssuers'>,
  site_id: string,
  nowMs: number = Date.now(),
): Promise<readonly Finding[]> {
  const { items } = await client.listIssuers({ site_id, limit: PAGE })
  const fetched = items.filter(
    ({ status, keys_refreshed_at }) => status === 'trusted' && keys_refreshed_at !== null,
  )
  const stale = fetched.filter(
    ({ keys_refreshed_at }) => nowMs - Date.parse(keys_refreshed_at ?? '') > KEYS_AGE_MS_MAX,
  )
  if (stale.length === 0)
    return [ok('issuers', `Issuers whose keys are fetched: ${fetched.length}. All of them are up to date.`)]
  return stale.map(({ issuer, keys_refreshed_at }) =>
    warning(
      'issuers',
      `The keys of ${issuer} were last fetched at ${keys_refreshed_at}. They are removed when they are too old (issuer_keys_hours_max).`,
      'Read the log of the service, which gives the reason. Repair the host of the issuer, or pin its keys: countersign issuers change',
    ),
  )
}

/** Verifiers reject heads from more than 5 s ahead of their own clock. */
const CLOCK_DIFFERENCE_MS_MAX = 2000

/**
 * Compares the clock of the node with those of its verifiers, as their acknowledgements report
 * them.
 */
export async function checkVerifierClocks(client: Client, site_id: string): Promise<Finding> {
  const { items } = await client.listVerifiers({ site_id, limit: PAGE })
  const known = items
    .flatMap(({ clock_difference_ms: ms }) => (ms === undefined ? [] : [ms]))
    .sort((one, other) => one - other)
  const median = known[Math.floor(known.length / 2)]
  if (median === undefined) return skipped('clocks', 'No verifier has reported its time to this node.')
  const seconds = Math.abs(median / 1000).toFixed(1)
  if (Math.abs(median) <= CLOCK_DIFFERENCE_MS_MAX)
    return ok('clocks', `${known.length} verifiers and the service agree within ${seconds} s.`)
  const [here, there] = median > 0 ? ['ahead', 'behind'] : ['behind', 'ahead']
  return problem(
    'clocks',
    `The clock of the service is ${here} by ${seconds} s, or the clocks of its verifiers are ${there}. Verifiers reject everything when the service is more than 5 s ahead of them.`,
    'Compare both with NTP (chronyc tracking, timedatectl), and correct the wrong one.',
  )
}

/** Finds verifiers that lag behind the log, and vanished ones that fail open. */
export async function checkVerifiers(client: Client, site_id: string): Promise<Finding> {
  const { items: listed } = await client.listVerifiers({ site_id, limit: PAGE })
  const gone = listed.find(({ state, fails_open }) => state === 'gone' && fails_open)
  if (gone !== undefined)
    return warning(
      'verifiers',
      `${gone.verifier_id} fails open and disconnected without closing, so receipts have no denied_everywhere_at.`,
      `If its process has ended: countersign verifiers --dismiss ${gone.instance_id}`,
    )
  const items = listed.filter(({ state }) => state !== 'gone')
  const behind = items.filter(({ lag }) => lag > 0)
  const [slowest] = [...behind].sort((one, other) => other.lag - one.lag)
  if (slowest === undefined) return ok('verifiers', `Verifiers connected: ${items.length}. None is behind.`)
  const words = `${behind.length} of ${items.length} are behind, ${slowest.verifier_id} by ${slowest.lag} entries.`
  return warning(
    'verifiers',
    words,
    'Check the network and the load of these processes: they reject everything once their revocation data is stale.',
  )
}

/**
 * Checks that a signed request arrives unchanged: this shows what proxies do to path, host, body
 * and signature fields.
 */
export async function checkHolderProof(baseUrl: string, dev: DevFile | undefined): Promise<Finding> {
  if (dev === undefined)
    return skipped(
      'holder proof',
      'This check needs a bound credential of this service. Only data/dev.json has one.',
    )
  const [{ agentFetch, readDenial }, { importPrivateKey }] = await Promise.all([
    import('@countersign/sdk'),
    import('@countersign/core'),
  ])
  const holderKey = await importPrivateKey(dev.bound.holder_private_jwk)
  const send = agentFetch({
    credential: dev.bound.credential as CredentialObject,
    holderKey,
    origins: baseUrl,
  })
  const headers = { 'content-type': 'application/json' }
  const response = await send(`${baseUrl}/api/protected/action?from=doctor`, {
    method: 'POST',
    headers,
    body: '{"action":"doctor"}',
  })
  const denial = await readDenial(response)
  if (denial === undefined || !denial.code.startsWith('proof_'))
    return ok('holder proof', 'A signed request arrives unchanged.')
  const fix =
    'Configure the proxy to forward Host, path, query, body, Signature, Signature-Input and Content-Digest unchanged, and set base_url to the address that clients use.'
  return problem('holder proof', `${denial.detail} (${denial.code})`, fix)
}
