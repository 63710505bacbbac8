import { type GuardDemand, type ReadDemand, readDemand } from '../guard/demand.ts'
import type { Guard } from '../guard/guard.ts'
import { requireOptions } from '../shared/require-options.ts'
import { type ResourceMetadata, requireResource } from './protected-resource.ts'

/** Options of every adapter. */
export interface RequireCredentialOptions {
  /**
   * The largest body of a request with a holder-bound credential, in bytes; it is held in memory.
   * Default 1 MiB. Larger ones are rejected with 413.
   */
  readonly bodyBytesMax?: number
  /**
   * What `protectedResource` has returned. Denials then say where OAuth clients find the metadata
   * of the resource and which scope to ask for. Requests for the metadata that come here are
   * answered.
   */
  readonly resource?: ResourceMetadata
}

/** What follows the guard in the arguments of an adapter. */
export type DemandAndOptions = readonly [demand?: GuardDemand, options?: RequireCredentialOptions | undefined]

/** The arguments of an adapter, once read. */
export interface Requirement {
  /** With the resource. */
  readonly demand: ReadDemand
  readonly bodyBytesMax: number
  readonly resource: ResourceMetadata | undefined
}

/**
 * Throws a TypeError when a framework has called an adapter in another way than its own framework
 * does: an application may have imported the wrong subpath.
 */
export function requireFramework(isRight: boolean, subpath: string, gets: string): asserts isRight {
  if (!isRight)
    throw new TypeError(
      `@countersign/sdk/${subpath} is for frameworks that call with ${gets}. Import the adapter of your framework (docs/guides/frameworks.md)`,
    )
}

const BODY_BYTES_MAX = 1024 * 1024
/** What adapters call. A double that lacks one would fail only when a request needs it. */
const GUARD_METHODS = ['verify', 'recheck', 'signal'] as const

/**
 * Reads the arguments of an adapter at set-up. Throws a TypeError for anything but a guard, for a
 * demand that `readDemand` rejects and for options that are wrong. Any valid credential is accepted
 * only when the demand was left out, not when it is undefined.
 */
export function readRequirement(guard: unknown, rest: DemandAndOptions): Requirement {
  const missing = GUARD_METHODS.filter(
    (name) => typeof (guard as Partial<Guard> | null)?.[name] !== 'function',
  )
  if (missing.length > 0)
    throw new TypeError(
      `the first argument must be a guard, as createGuard returns it; this one has no ${missing.join(', ')}. Tests get a real guard from createTestSite of @countersign/sdk/testing`,
    )
  const [demand, options = {}] = rest
  requireOptions<RequireCredentialOptions>('requireCredential', options, {
    bodyBytesMax: 'number',
    resource: 'any',
  })
  const { bodyBytesMax = BODY_BYTES_MAX } = options
  if (!Number.isSafeInteger(bodyBytesMax) || bodyBytesMax < 0)
    throw new TypeError('bodyBytesMax must be a whole number from 0')
  const resource = requireResource(options.resource)
  const read = rest.length === 0 ? readDemand() : readDemand(demand)
  return { demand: resource === undefined ? read : { ...read, resource }, bodyBytesMax, resource }
}
