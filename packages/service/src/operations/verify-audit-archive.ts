import { type ArchivesCheck, verifyArchives } from '../audit-archive/verify-archives.ts'
import type { Config } from '../config.ts'
import { readStore } from '../store/maintenance.ts'
import { InvalidInput } from './invalid-input.ts'
import type { OnProgress } from './with-store.ts'

interface AuditArchiveOptions {
  /** Undefined: the directory of the settings, whose last file must be the one in the store. */
  readonly directory: string | undefined
  readonly settings: () => { readonly directory: string | undefined; readonly store: Config['store'] }
  /** The number of the first file, if older ones were moved elsewhere. */
  readonly from: number | undefined
  readonly onProgress: OnProgress
}

/**
 * Checks the archives of audit rows. Writes nothing; the store may be in use. Throws an
 * `InvalidInput` when there is no directory.
 */
export async function verifyAuditArchive(options: AuditArchiveOptions): Promise<ArchivesCheck> {
  const { from, onProgress: onFile } = options
  if (options.directory !== undefined) return verifyArchives(options.directory, { from, onFile })
  const { directory, store } = options.settings()
  if (directory === undefined)
    throw new InvalidInput('Name the directory, or set audit_archive_dir to the one of the service.')
  const expected = await readStore(store, ({ lastAuditArchive }) => lastAuditArchive())
  return verifyArchives(directory, { from, expected, onFile })
}
