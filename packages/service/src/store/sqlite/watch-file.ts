import { statSync } from 'node:fs'

/**
 * The database file or its write-ahead log is no longer the one that is open: what is written now
 * is lost with the process.
 */
export class FileGone extends Error {
  override readonly name = 'FileGone'
  /**
   * The database file is still in place, so the content of the write-ahead log can be moved into
   * it.
   */
  readonly isLogOnly: boolean

  constructor(path: string, what: 'missing' | 'replaced', isLogOnly: boolean) {
    super(
      `${path} is ${what === 'missing' ? 'missing' : 'another file than the one that this process has open'}: changes would be lost. ` +
        'Find out who removed or replaced it. Put the file back, or restore a backup (countersign restore), then start again.',
    )
    this.isLogOnly = isLogOnly
  }
}

const CHECK_MS = 1000

/**
 * Compares the files at these paths with the ones that were there when this was called, which
 * SQLite has open. Calls `onGone` once, as soon as one is missing or another file. The returned
 * function stops the comparison.
 */
export function watchFile(file: string, onGone: (fault: FileGone) => void, checkMs = CHECK_MS): () => void {
  const wal = `${file}-wal`
  const opened = new Map([file, wal].map((path) => [path, identify(path)]))
  const timer = setInterval(() => {
    for (const [path, before] of opened) {
      const now = identify(path)
      if (now === before) continue
      // SQLite creates the write-ahead log when it first needs it.
      if (before === undefined) opened.set(path, now)
      else {
        clearInterval(timer)
        onGone(new FileGone(path, now === undefined ? 'missing' : 'replaced', path === wal))
        return
      }
    }
  }, checkMs)
  timer.unref()
  return () => clearInterval(timer)
}

/** Device and inode; undefined when there is no file. */
function identify(path: string): string | undefined {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false })
  return found && `${found.dev}:${found.ino}`
}
