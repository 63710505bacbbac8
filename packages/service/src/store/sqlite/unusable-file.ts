/** A file that cannot be used as a store, with a message for the operator. */
export class UnusableFile extends Error {
  override readonly name = 'UnusableFile'
  /** What is wrong, as a sentence. */
  readonly detail: string
  /** What to do, without a full stop. */
  readonly advice: string

  constructor(detail: string, advice: string, options?: ErrorOptions) {
    super(`${detail} ${advice}.`, options)
    this.detail = detail
    this.advice = advice
  }
}

export function notAStore(
  file: string,
  advice = 'Check the path, or restore a backup: countersign restore',
  options?: ErrorOptions,
): UnusableFile {
  return new UnusableFile(`${file} is not a store of Countersign.`, advice, options)
}

export function notWritable(file: string, cause: unknown): UnusableFile {
  return new UnusableFile(
    `The store ${file} cannot be written.`,
    'Give this user write access to its directory and files',
    { cause },
  )
}

/**
 * Explains a fault of opening a file with SQLite. Returns any other fault as it is. `advice` is for
 * files that are not a store, or a damaged one.
 */
export function explainOpenFault(fault: unknown, file: string, advice?: string): unknown {
  const code = findCode(fault)
  if (code.startsWith('SQLITE_NOTADB')) return notAStore(file, advice, { cause: fault })
  if (code.startsWith('SQLITE_CORRUPT'))
    return new UnusableFile(
      `The store ${file} is damaged.`,
      advice ?? 'Restore a backup: countersign restore',
      { cause: fault },
    )
  if (/^SQLITE_(?:READONLY|CANTOPEN)/.test(code))
    return new UnusableFile(
      `The store ${file} cannot be opened.`,
      'Give this user access to its directory and files. SQLite writes files beside it, even to read it',
      { cause: fault },
    )
  return fault
}

/** Whether this user lacks the right, or the file system is read-only. */
export function isForbidden(fault: unknown): boolean {
  return ['EACCES', 'EPERM', 'EROFS'].includes(findCode(fault))
}

export function findCode(fault: unknown): string {
  const code = fault instanceof Error && 'code' in fault ? fault.code : undefined
  return typeof code === 'string' ? code : ''
}
