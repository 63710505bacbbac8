import {
  accessSync,
  chmodSync,
  closeSync,
  constants,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  statSync,
} from 'node:fs'
import { dirname, resolve } from 'node:path'
import { findCode, isForbidden, notWritable } from './unusable-file.ts'

const FILE_MODE = 0o600
const DIRECTORY_MODE = 0o700
const OTHERS = 0o077
const WORLD_WRITABLE = 0o002
const STICKY = 0o1000

/**
 * Creates an empty file and its directory if they are missing, for their owner only; the files that
 * SQLite puts beside it get the same mode. Throws for a file that other users could read or
 * replace, and an `UnusableFile` for one that this user cannot write.
 */
export function prepareStoreFile(file: string): string {
  const path = resolve(file)
  const directory = dirname(path)
  prepareStoreDirectory(path)
  if (existsSync(path)) {
    for (const each of [path, `${path}-wal`, `${path}-shm`]) requirePrivate(each)
  } else {
    createPrivateFile(path)
    syncDirectory(directory)
  }
  return path
}

/**
 * Creates the directory of a store if it is missing. Throws an `UnusableFile` where this user
 * cannot write the store.
 */
export function prepareStoreDirectory(path: string): void {
  try {
    prepareDirectory(dirname(path))
  } catch (fault) {
    // Where the file system is read-only, Node reports ENOENT.
    throw isForbidden(fault) || findCode(fault) === 'ENOENT' ? notWritable(path, fault) : fault
  }
  requireWritable(path)
}

/**
 * Throws an `UnusableFile` when this user cannot write the store: its directory or one of its
 * files. Opens none of them, so it does not disturb a service that has them open.
 */
export function requireWritable(path: string): void {
  for (const each of [dirname(path), ...['', '-wal', '-shm', '.lock'].map((ending) => path + ending)]) {
    try {
      accessSync(each, constants.W_OK)
    } catch (fault) {
      if (findCode(fault) !== 'ENOENT') throw notWritable(path, fault)
    }
  }
}

/**
 * Throws, with a message for the operator, where there is no store: a start must not create one in
 * the place of a lost store.
 */
export function requireStoreFile(file: string): void {
  const path = resolve(file)
  let size: number
  try {
    size = statSync(path, { throwIfNoEntry: false })?.size ?? 0
  } catch (fault) {
    throw isForbidden(fault) ? notWritable(path, fault) : fault
  }
  if (size === 0) throw new Error(noStoreAt(path))
}

export function noStoreAt(path: string): string {
  return (
    `there is no store at ${path}, and serve does not create one. New installation: run countersign init, or countersign migrate. ` +
    'If there was a store, look for its disk or volume, or restore a backup: countersign restore'
  )
}

/**
 * Creates the directory if it is missing. Throws for one in which every user could replace the
 * files of others.
 */
function prepareDirectory(directory: string): void {
  mkdirSync(directory, { recursive: true, mode: DIRECTORY_MODE })
  const { mode } = statSync(directory)
  if ((mode & WORLD_WRITABLE) !== 0 && (mode & STICKY) === 0) {
    throw new Error(`every user can replace files in ${directory}: chmod o-w it, or choose another place`)
  }
}

/** Creates an empty file for its owner only. Throws when it exists. */
export function createPrivateFile(path: string): void {
  closeSync(openSync(path, 'wx', FILE_MODE))
  chmodSync(path, FILE_MODE)
}

function requirePrivate(path: string): void {
  // A process that closes the store removes two of the files at any moment.
  const { mode = 0 } = statSync(path, { throwIfNoEntry: false }) ?? {}
  if ((mode & OTHERS) !== 0) {
    throw new Error(
      `${path} can be read by others (mode ${(mode & 0o777).toString(8)}): chmod 600 it, and consider its secrets known`,
    )
  }
}

/** Syncs the names in a directory to disk. */
export function syncDirectory(directory: string): void {
  syncFile(directory)
}

export function syncFile(path: string): void {
  const descriptor = openSync(path, 'r')
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}
