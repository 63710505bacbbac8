/**
 * Fills a store with revocations that a service could have written in ten years.
 *
 *   node --conditions=countersign-source bench/growth/generate.ts --data-dir <folder> \
 *     --revocations 1000000 [--years 10] [--sites 3] [--database-url postgres://…]
 */
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { type KeyState, parseSiteId, type SiteId } from '@countersign/core'
import type { Config } from '../../packages/service/src/config.ts'
import { createPairwiseSecret } from '../../packages/service/src/keys/ids.ts'
import { readMasterKey } from '../../packages/service/src/keys/master-key.ts'
import { createLogger } from '../../packages/service/src/logger.ts'
import { pairwisePurpose } from '../../packages/service/src/sealing/purposes.ts'
import { createSealer } from '../../packages/service/src/sealing/sealer.ts'
import { openStore } from '../../packages/service/src/store/open.ts'
import { required, SITE } from '../sample.ts'
import { BLOCK, type ChangesOptions, toBlock, toCredentialId, toTimeMs } from './changes.ts'
import { fillPostgres } from './fill-postgres.ts'
import { fillSqlite } from './fill-sqlite.ts'
import { type Blocks, writeBlock, writeCredential } from './rows.ts'

export interface GenerateOptions {
  readonly place: Config['store']
  readonly masterKey: Uint8Array
  /** The number of entries. All revoke something, except 2 % that reinstate a user. */
  readonly revocations: number
  readonly years?: number
  readonly nowMs?: number
  /** Sites that are missing are created. They share the revocations evenly. */
  readonly sites?: readonly SiteId[]
  /** An issuer that new sites trust. */
  readonly issuer?: { readonly did: string; readonly keyId: string; readonly multikey: string }
  /**
   * How many credentials the sites have seen for each hundred revocations. One of them is revoked.
   */
  readonly known?: number
  readonly onProgress?: (done: number, all: number) => void
}

/**
 * Appends revocations to a store that no service has open, with the chain, the digest, the MACs,
 * the derived tables and the audit. Creates the store if there is none. Rows are streamed: the
 * memory that this needs does not depend on their number.
 */
export async function generateStore(options: GenerateOptions): Promise<void> {
  const { place, masterKey, revocations, years = 10, nowMs = Date.now(), known = 10, onProgress } = options
  const changes: ChangesOptions = { count: revocations, years, nowMs }
  const sites = options.sites ?? [SITE]
  await createSites(options, sites, toTimeMs(0, changes) - 60_000)
  const blocks: Blocks = function* (end, write) {
    for (let first = 0; first < revocations; first += BLOCK) {
      const siteId = required(sites[(first / BLOCK) % sites.length])
      const block = toBlock(first, changes)
      writeBlock(end, siteId, block, write)
      const revoked = block.find(({ kind }) => kind === 'credential.revoked')
      for (let i = 0; i < known; i++) {
        const n = revocations + (first / BLOCK) * known + i
        const knownAtMs = toTimeMs(first, changes) - 1
        const credentialId = (i === 0 && revoked?.target) || toCredentialId(n, knownAtMs)
        writeCredential({ siteId, credentialId, n, knownAtMs }, write)
      }
      onProgress?.(Math.min(first + BLOCK, revocations), revocations)
      yield
    }
  }
  if (place.kind === 'sqlite') fillSqlite(place.file, masterKey, sites, blocks)
  else await fillPostgres(place.url, masterKey, sites, blocks)
}

async function createSites(
  { place, masterKey, issuer }: GenerateOptions,
  sites: readonly SiteId[],
  atMs: number,
): Promise<void> {
  const onFatal = (fault: Error) => {
    throw fault
  }
  const store = await openStore(place, { masterKey, log: createLogger('error'), onFatal })
  const context = { actor: 'system', atMs }
  const sealer = createSealer(masterKey)
  try {
    for (const siteId of sites) {
      const pairwiseSecretSealed = sealer.seal(pairwisePurpose(siteId), createPairwiseSecret())
      const settings = { bearer: 'on', holderProof: 'optional', delegation: 'on' } as const
      const limits = { returnUrls: [], credentialTtlSecondsMax: undefined, name: undefined }
      const site = { siteId, ...settings, ...limits, pairwiseSecretSealed }
      if ((await store.createSite(site, context)) === 'exists' || issuer === undefined) continue
      const keys: readonly KeyState[] = [{ id: issuer.keyId, key: issuer.multikey, status: 'active' }]
      const bounds = { scope: undefined, credentialTtlSecondsMax: undefined, label: undefined }
      await store.addIssuer({ siteId, issuer: issuer.did, keys, ...bounds, fetched: false }, context)
    }
  } finally {
    await store.close()
  }
}

/** `shop.example`, `shop2.example`, … */
export function toSites(count: number): readonly SiteId[] {
  return Array.from({ length: count }, (_, i) =>
    i === 0 ? SITE : required(parseSiteId(`shop${i + 1}.example`)),
  )
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const { values } = parseArgs({
    options: {
      'data-dir': { type: 'string' },
      'database-url': { type: 'string' },
      revocations: { type: 'string', default: '1000000' },
      years: { type: 'string', default: '10' },
      sites: { type: 'string', default: '1' },
    },
  })
  const dataDir = required(values['data-dir'])
  const url = values['database-url']
  const startedMs = performance.now()
  await generateStore({
    place:
      url === undefined
        ? { kind: 'sqlite', file: join(dataDir, 'countersign.db') }
        : { kind: 'postgres', url },
    masterKey: readMasterKey({ text: undefined, file: undefined, dataDir, mode: 'development' }),
    revocations: Number(values.revocations),
    years: Number(values.years),
    sites: toSites(Number(values.sites)),
  })
  const seconds = ((performance.now() - startedMs) / 1000).toFixed(1)
  console.log(
    `${values.revocations} revocations in ${seconds} s, at most ${process.resourceUsage().maxRSS >> 10} MB`,
  )
}
