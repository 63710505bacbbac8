import type * as Service from '@countersign/service'
import { CommandError, type ExitCode, type Given, UsageError, type Verb } from '../command.ts'
import { orUsageError } from '../service/connection.ts'
import { barText, type Terminal, visible } from '../terminal/output.ts'

/** What an operator command works with. Reading invalid settings throws a `UsageError`. */
export interface Operation {
  readonly given: Given
  readonly at: Terminal
  /** Loaded lazily, because loading the service takes a moment. */
  readonly service: typeof Service
  readonly sources: { readonly flags: Given['settings']; readonly env: Terminal['env'] }
  /** All settings of a production start. */
  config(): Service.Config
  /** Only the location of the store. Needs no address and no master key. */
  store(): Service.Config['store']
  /** Only the location of the store and its master key. */
  storeSettings(): Service.StoreSettings
  masterKey(): Uint8Array
  /** The key that replaces the master key. It has its own variables. */
  newMasterKey(): Uint8Array
  /** The file that stores signed heads outside the store, if there is one. */
  headFile(): string | undefined
  /** The directory of the archives of audit rows, if there is one. */
  archiveDir(): string | undefined
  /** Draws a progress bar. */
  onProgress(done: number, total: number): void
}

/**
 * A command that runs the service, or works on its store without a running service. Its flags may
 * be settings of the service.
 */
export function operatorCommand(
  name: string,
  { run, ...verb }: Omit<Verb, 'run' | 'takesSettings'> & { run(operation: Operation): Promise<ExitCode> },
): Verb {
  return {
    ...verb,
    takesSettings: true,
    async run(given, at) {
      const service = await import('@countersign/service')
      try {
        return await run(createOperation(service, given, at))
      } catch (fault) {
        throw toCommandError(service, name, fault)
      } finally {
        at.progress(undefined)
      }
    },
  }
}

function createOperation(service: typeof Service, given: Given, at: Terminal): Operation {
  const sources = { flags: given.settings, env: at.env }
  const read = <T>(reader: (from: typeof sources) => T): T => orUsageError(() => reader(sources))
  const store = () => read(service.readStoreConfig)
  const masterKey = () => read(service.readMasterKeyConfig)
  return {
    given,
    at,
    service,
    sources,
    config: () => read((from) => service.readConfig('production', from)),
    store,
    storeSettings: () => ({ store: store(), masterKey: masterKey() }),
    masterKey,
    newMasterKey: () => read(({ env }) => service.readNewMasterKey(env, masterKey())),
    headFile: () => read(service.readHeadFileConfig),
    archiveDir: () => read(service.readArchiveDirConfig),
    onProgress: (done, total) =>
      at.progress(`${barText(done / Math.max(total, 1))} ${done} of ${total} entries`),
  }
}

function toCommandError(service: typeof Service, name: string, fault: unknown): Error {
  if (fault instanceof UsageError || fault instanceof CommandError) return fault
  if (fault instanceof service.InvalidInput) return new UsageError(fault.message, { cause: fault })
  if (fault instanceof service.LogCorrupted && fault.audit !== undefined)
    return new CommandError('failed', describeCorruption(fault.audit), 3)
  const message = fault instanceof Error ? fault.message : String(fault)
  return new CommandError('failed', visible(`${name} failed: ${message}`, { lines: true }))
}

const FAULTS: Readonly<Record<Service.FailedAudit['fault'], string>> = {
  wrong_hash: 'its contents are not those that were sealed',
  wrong_prev: 'it does not continue the entry before it',
  hole: 'its number is not the next one of its site',
  other_site: 'it belongs to another site',
  other_epoch: 'it belongs to another epoch',
  unreadable: 'the row is not a log entry',
  missing: 'it does not exist',
  other_head: 'the store records a different end for the log of this site',
  other_entries:
    'the entries up to here form a chain, but not the one that the service wrote: the digest in the log row differs',
  forged: 'its MAC is missing or wrong, so the service did not write it or it was changed since',
  row_missing: 'the log says that it exists; decisions follow the log, but lists and answers are incomplete',
  row_differs:
    'it differs from what the log says; decisions follow the log, but lists and answers may be wrong',
}

/** Where a log is corrupt, and how. */
export function describeCorruption({ fault, position, siteId, seq, row }: Service.FailedAudit): string {
  if (row !== undefined)
    return `The log is not intact.\n  bad row: ${row.key} of ${row.table}\n  fault: ${fault}, ${FAULTS[fault]}`
  const where = [
    `position ${position}`,
    siteId !== undefined && `site ${siteId}`,
    seq !== undefined && `number ${seq}`,
  ]
  return `The log is not intact.\n  first bad entry: ${where.filter(Boolean).join(', ')}\n  fault: ${fault}, ${FAULTS[fault]}`
}

/** `5 entries of 1 site` */
export function countText({
  position,
  sites,
}: {
  readonly position: number
  readonly sites: number
}): string {
  return `${entriesText(position)} of ${sites} ${sites === 1 ? 'site' : 'sites'}`
}

/** `1 entry`, `5 entries` */
export function entriesText(count: number): string {
  return `${count} ${count === 1 ? 'entry' : 'entries'}`
}
