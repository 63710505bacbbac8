import type { Heartbeat, SiteId } from '@countersign/core'
import { requireFreshView, staleProblem } from '../access/require-fresh.ts'
import { BoundedMap } from '../bounded-map.ts'
import type { ServiceKeys } from '../keys/service-keys.ts'
import type { LiveViews } from '../log/live-views.ts'
import type { Store } from '../store/store.ts'
import type { Clock } from '../time/clock.ts'
import type { HeadAges } from './head-ages.ts'
import { HeadSigner } from './head-signer.ts'
import type { VerifierRegistry } from './verifier-registry.ts'

/** Signed heads for readers that open no stream. */
export interface SignedHeads {
  /**
   * The head of the site, signed at most a second ago. Throws a Problem: `not_found`,
   * `revocation_view_stale`.
   */
  read(request: HeadRequest): Promise<Heartbeat>
}

interface HeadRequest {
  readonly siteId: SiteId
  readonly keyId: string
  /** Otherwise receipts take into account that the head may be used for access decisions. */
  readonly isObserver: boolean
}

export interface SignedHeadsParts {
  readonly store: Pick<Store, 'site' | 'logPosition'>
  readonly views: LiveViews
  readonly clock: Clock
  readonly keys: Pick<ServiceKeys, 'feedKey'>
  readonly verifiers: Pick<VerifierRegistry, 'admit' | 'mayConfirmHeads'>
  readonly ages: HeadAges
  /** A node that has not heard from its store for longer than this signs nothing. */
  readonly silentMs?: number
}

const SILENT_MS = 2000
const SIGNERS_MAX = 1000
/** The head may move while the validity of heads is looked up. */
const TRIES_MAX = 3

export function createSignedHeads({ silentMs = SILENT_MS, ...parts }: SignedHeadsParts): SignedHeads {
  const { verifiers } = parts
  const signers = new BoundedMap<SiteId, HeadSigner>(SIGNERS_MAX)
  const findSigner = (siteId: SiteId): HeadSigner => {
    const known = signers.get(siteId)
    if (known !== undefined) return known
    const mayConfirmHeads = () => verifiers.mayConfirmHeads(siteId, false)
    const signer = new HeadSigner(siteId, { ...parts, silentMs, mayConfirmHeads })
    signers.set(siteId, signer)
    return signer
  }
  return {
    async read({ siteId, keyId, isObserver }) {
      await requireFreshView(parts, siteId)
      // Before the head is signed: receipts must know of every head that is given out.
      const reader = { siteId, keyId, verifierId: '', isNamed: false, promise: undefined, isObserver }
      await verifiers.admit(reader, 'snapshot')
      for (let tries = 0; tries < TRIES_MAX; tries++) {
        const { head } = await requireFreshView(parts, siteId)
        const signed = await findSigner(siteId).sign(head, false)
        if (signed !== undefined) return signed.heartbeat
      }
      throw staleProblem()
    },
  }
}
