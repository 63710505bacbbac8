import { limits, type Propagation } from '@countersign/core/contract'
import type { Receipt } from '../feed/receipt.ts'

/** A receipt on the wire: of those who lag behind, as many as fit. */
export function propagationBody({ connected, acknowledged, elapsedMs, laggards }: Receipt): Propagation {
  return {
    connected,
    acknowledged,
    elapsed_ms: elapsedMs,
    laggards: laggards.slice(0, limits.laggards_listed_max).map(({ verifierId, seq }) => ({ verifier_id: verifierId, seq })),
  }
}
