import type { LoadResult, LogHead } from '@countersign/core'

/**
 * What the service sent cannot be read, or is not the log that was followed so far. The guard
 * rejects everything until a snapshot is loaded.
 */
export class LogCorrupted extends Error {
  override readonly name = 'LogCorrupted'
  readonly code: string
  /** Only an operator can resolve it, so the guard waits longer before it tries again. */
  readonly needsOperator: boolean

  constructor(code: string, detail?: string) {
    super(detail ?? `What the service sent is not the log that was followed so far (${code}).`)
    this.code = code
    this.needsOperator = detail !== undefined
  }
}

/** Why a signed snapshot was not loaded, with what an operator can do about it. */
export function toLogCorrupted(
  loaded: Exclude<LoadResult, 'loaded'>,
  proven: LogHead | undefined,
  offered: LogHead,
): LogCorrupted {
  const from = proven && `${proven.epoch}.${proven.seq}`
  const to = `${offered.epoch}.${offered.seq}`
  switch (loaded) {
    case 'fork':
    case 'lower_head':
    case 'unlinked_head':
      return new LogCorrupted(
        loaded === 'lower_head' ? loaded : 'fork',
        `The service signs log position ${to}, which does not extend position ${from} that this guard has proof of. ` +
          'The store may have been set back to an older copy. The guard rejects everything until the log begins a new epoch: ' +
          'put the newer store back, or run `countersign accept-rollback` on the service.',
      )
    case 'unlinked_epoch':
      return new LogCorrupted(
        'epoch_unlinked',
        `The service's log is in epoch ${offered.epoch}, and no signed statement leads there from position ${from}, which this guard has proof of. ` +
          'The guard does not follow it. If the store was replaced on purpose, restart the guard.',
      )
    case 'too_many_carried':
      return new LogCorrupted(
        'epoch_lacks_revocations',
        `Epoch ${offered.epoch} lacks more revocations than this guard can carry over from position ${from}. ` +
          'Revoke them again on the service, or restart the guard to accept the loss.',
      )
    case 'incomplete':
      return new LogCorrupted(
        loaded,
        'The snapshot has no settings of the site. Check that the service is up to date.',
      )
    default:
      return new LogCorrupted(loaded)
  }
}
