import type { LogPosition, SiteId } from '@countersign/core'
import { requireFreshView } from '../access/require-fresh.ts'
import type { Deps } from '../deps.ts'
import { requirePosition } from '../feed/require-position.ts'

export interface Acknowledgement {
  readonly siteId: SiteId
  readonly keyId: string
  /** Undefined: by a reader without a name. */
  readonly verifierId: string | undefined
  /** Undefined: by a reader that declares none. */
  readonly instanceId: string | undefined
  readonly position: LogPosition
  /** The clock of the verifier. */
  readonly sentAtMs: number | undefined
  /** The instance rejects everything from now on. */
  readonly isClosing: boolean
}

/**
 * A verifier says how far it has applied the log of a site. That is its word and nothing more;
 * receipts repeat it. Throws `not_found` when there is no such site, and `cursor_ahead` for what no
 * verifier can have applied.
 */
export async function acknowledge(
  { store, views, clock, verifiers }: Pick<Deps, 'store' | 'views' | 'clock' | 'verifiers'>,
  { position, ...ack }: Acknowledgement,
): Promise<void> {
  const atMs = clock.clocks().wallMs
  await requireFreshView({ store, views }, ack.siteId)
  await requirePosition({ store, views }, ack.siteId, position)
  verifiers.acknowledge({ ...ack, atMs, ...position })
}
