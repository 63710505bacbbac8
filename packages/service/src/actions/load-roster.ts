import type { RosterState } from '@countersign/core/contract'
import type { Deps } from '../deps.ts'
import {
  parseRosterName,
  type RosterEntry,
  type RosterMoment,
  toReaderEntry,
  toRosterEntry,
  toRosterName,
} from '../feed/roster.ts'
import { Problem } from '../problem.ts'
import type { Site } from '../store/operations/sites.ts'

type RosterDeps = Pick<Deps, 'store' | 'verifiers' | 'clock'>

/** Without a state: those that are connected, and those that receipts still expect. */
export interface RosterQuery {
  readonly state: RosterState | undefined
  /** The name of the last entry of the page before. */
  readonly after: string
  readonly limit: number
}

/** Loads a page of the verifiers of a site, by name. */
export async function loadRoster(
  deps: RosterDeps,
  site: Site,
  { state, after, limit }: RosterQuery,
): Promise<readonly RosterEntry[]> {
  const { leases, streams } = await deps.verifiers.readers(site.siteId)
  const moment = toRosterMoment(deps, site)
  const now = [...leases.map((lease) => toRosterEntry(lease, moment)), ...streams.map(toReaderEntry)]
  const isListed = (entry: RosterEntry) =>
    state === undefined ? entry.isExpected || isThere(entry) : entry.state === state
  const named = new Map(now.filter(isListed).map((entry) => [toRosterName(entry), entry]))
  const known = new Set(now.map(toRosterName))
  if (state === 'gone' || state === 'retired') {
    const page = { after: after === '' ? undefined : parseRosterName(after), limit }
    for (const lease of await deps.store.formerVerifiers(site.siteId, state, page)) {
      const entry = toRosterEntry(lease, moment)
      const name = toRosterName(entry)
      // One that has just come back is not gone.
      if (!known.has(name)) named.set(name, entry)
    }
  }
  return [...named]
    .filter(([name]) => name > after)
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .slice(0, limit)
    .map(([, entry]) => entry)
}

/**
 * Loads one instance; if several keys have used its id, the one that was there last. Throws
 * `not_found` when the roster has none.
 */
export async function loadVerifier(deps: RosterDeps, site: Site, instanceId: string): Promise<RosterEntry> {
  const { leases } = await deps.verifiers.readers(site.siteId)
  const own = leases.filter((lease) => lease.instanceId === instanceId)
  const found = own.length > 0 ? own : await deps.store.formerVerifiersById(site.siteId, instanceId)
  const moment = toRosterMoment(deps, site)
  const [latest] = found
    .map((lease) => toRosterEntry(lease, moment))
    .sort(
      (one, other) =>
        Number(isThere(other)) - Number(isThere(one)) || other.connectedAtMs - one.connectedAtMs,
    )
  if (latest === undefined)
    throw new Problem('not_found', 'No verifier of this site had this instance id within the last 30 days.')
  return latest
}

function isThere({ state }: RosterEntry): boolean {
  return state === 'connected' || state === 'silent'
}

/** What the entries of a site's roster depend on now. */
export function toRosterMoment(
  { store, clock }: Pick<RosterDeps, 'store' | 'clock'>,
  site: Site,
): RosterMoment {
  return { nowMs: clock.clocks().wallMs, headAgeMsMax: toHeadAgeMsMax(site), epoch: store.epoch }
}

/** The longest validity that any signed head of the site may still have. */
function toHeadAgeMsMax({
  maxStalenessSecondsMax,
  stalenessBefore,
}: Pick<Site, 'maxStalenessSecondsMax' | 'stalenessBefore'>): number {
  return Math.max(maxStalenessSecondsMax, stalenessBefore?.seconds ?? 0) * 1000
}
