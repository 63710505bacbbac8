import { SiteView } from '@countersign/core'
import { systemClock } from '@countersign/sdk'
import {
  createFeedKeys,
  createVerifierApi,
  LogCorrupted,
  loadSnapshot,
  ServiceError,
  type VerifierApi,
} from '@countersign/sdk/feed'
import { CommandError, type ExitCode } from '../command.ts'
import { requireSiteId } from '../credential/site-id.ts'
import { requireSite, type Target } from '../service/connection.ts'

/**
 * Loads the current view of a site from a signed snapshot. Throws a `CommandError` when there is no
 * snapshot, or its signature is invalid.
 */
export async function loadSite(target: Omit<Target, 'urlName'>): Promise<SiteView> {
  const view = new SiteView({ siteId: requireSiteId(requireSite(target)) })
  const api = createObserverApi(target)
  const keys = createFeedKeys({ pinned: undefined, discovery: api.discovery, clock: systemClock })
  const { monotonicMs } = systemClock.read()
  try {
    const { load, proof } = await loadSnapshot({ api, keys }, view, new AbortController().signal)
    if (load.commit(proof) !== 'loaded') throw new LogCorrupted('snapshot_unsigned')
    view.confirmHead(proof, { ...systemClock.read(), monotonicMs })
    return view
  } catch (fault) {
    throw toFeedError(fault)
  }
}

/**
 * The API of a verifier, as an observer: receipts do not count it. Throws a `CommandError` without
 * an API key.
 */
export function createObserverApi(target: Omit<Target, 'urlName'>): VerifierApi {
  const { baseUrl, apiKey } = target
  if (apiKey === undefined)
    throw new CommandError(
      'api_key_missing',
      'Set COUNTERSIGN_API_KEY or COUNTERSIGN_API_KEY_FILE, to a key with feed:read.',
      4,
    )
  return createVerifierApi({
    baseUrl: baseUrl.replace(/\/+$/, ''),
    siteId: requireSite(target),
    apiKey,
    instance: undefined,
    fetch: globalThis.fetch,
    clock: systemClock,
  })
}

/** Converts an error of the feed to one of the command line. */
export function toFeedError(fault: unknown): unknown {
  if (fault instanceof LogCorrupted && fault.code === 'snapshot_unsigned')
    return new CommandError(
      fault.code,
      'The snapshot is not signed by any feed key of the service, so it was not used. Check --url and the proxy in front of the service.',
    )
  if (!(fault instanceof ServiceError))
    return fault instanceof SyntaxError ? new CommandError('answer_unknown', fault.message) : fault
  const exit: ExitCode = fault.status === 0 ? 5 : fault.status === 401 || fault.status === 403 ? 4 : 1
  return new CommandError(fault.code, `${fault.message} (${fault.code})`, exit)
}
