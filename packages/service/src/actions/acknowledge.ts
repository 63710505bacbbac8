import type { LogPosition, SiteId } from '@countersign/core'
import type { VerifierTime } from '@countersign/core/contract'
import { requireFreshView } from '../access/require-fresh.ts'
import type { Deps } from '../deps.ts'
import { requirePosition } from '../feed/require-position.ts'

export interface Acknowledgement {
  readonly siteId: SiteId
  readonly keyId: string
  /** Undefined when the verifier has no name. */
  readonly verifierId: string | undefined
  /** Undefined when the verifier declares none. */
  readonly instanceId: string | undefined
  readonly position: LogPosition
  /** The clock of the verifier. */
  readonly sentAtMs: number | undefined
  /** How long ago entries took effect in the verifier. */
  readonly applied: readonly VerifierTime[]
  readonly denied: readonly VerifierTime[]
  /** The instance rejects everything from now on. */
  readonly isClosing: boolean
}

/**
 * Records how far a verifier says it has applied the log of a site; receipts repeat this claim.
 * Throws `not_found` when there is no such site, and `cursor_ahead` for an entry that does not
 * exist.
 */
export async function acknowledge(
  { store, views, clock, verifiers }: Pick<Deps, 'store' | 'views' | 'clock' | 'verifiers'>,
  { position, applied, denied, ...ack }: Acknowledgement,
): Promise<void> {
  const atMs = clock.clocks().wallMs
  await requireFreshView({ store, views }, ack.siteId)
  await requirePosition({ store, views }, ack.siteId, position)
  // By the clock of this node alone, so the clock of the verifier does not matter.
  const toTimes = (times: readonly VerifierTime[]) =>
    times.map(({ seq, agoMs }) => ({ seq, atMs: atMs - agoMs }))
  const times = { applied: toTimes(applied), denied: toTimes(denied) }
  verifiers.acknowledge({ ...ack, atMs, ...position, times })
}
