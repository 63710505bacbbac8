import { randomBytes } from 'node:crypto'
import {
  closeSync,
  fstatSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  unlinkSync,
  writeSync,
} from 'node:fs'
import { dirname, join } from 'node:path'

/** Where the master key may come from: one of the first two, or the file in the data directory. */
export interface MasterKeySources {
  /** COUNTERSIGN_MASTER_KEY */
  readonly text: string | undefined
  /** COUNTERSIGN_MASTER_KEY_FILE */
  readonly file: string | undefined
  readonly dataDir: string
  /**
   * A missing key is created only in development. In production that would hide that the old key,
   * and all it has sealed, is lost.
   */
  readonly mode: 'development' | 'production'
}

const FILE_NAME = 'master.key'
const BYTES = 32
const FILE_BYTES_MAX = 1024
/** A new key is the usual advice where none is found, and the wrong one beside a store. */
export const OWN_KEY = 'If there is a store already, use its own key: a new key cannot open it.'
const HOW = '32 random bytes as 64 hex digits or in base64, for example from: openssl rand -hex 32'

/**
 * The key under which all secrets in the store are sealed. Throws a TypeError, with a message for
 * the operator that does not contain the key, when there is none, when it does not have 32 bytes,
 * or when other users can read its file.
 */
export function readMasterKey({ text, file, dataDir, mode }: MasterKeySources): Uint8Array {
  if (text !== undefined && file !== undefined)
    throw new TypeError(
      'COUNTERSIGN_MASTER_KEY and COUNTERSIGN_MASTER_KEY_FILE are both set; set one of them',
    )
  if (text !== undefined) return parse(text, 'COUNTERSIGN_MASTER_KEY')
  if (file !== undefined) return parse(readKeyFile(file), 'the file of COUNTERSIGN_MASTER_KEY_FILE')
  const own = join(dataDir, FILE_NAME)
  const kept = tryReadKeyFile(own)
  if (kept !== undefined) return parse(kept, own)
  if (mode === 'production')
    throw new TypeError(
      `there is no master key; set COUNTERSIGN_MASTER_KEY or COUNTERSIGN_MASTER_KEY_FILE to ${HOW}. ${OWN_KEY}`,
    )
  try {
    makeKeyFile(own)
  } catch (error) {
    throw new TypeError(
      `${own} cannot be created (${(error as NodeJS.ErrnoException).code ?? 'unknown reason'}). Give this user write access, or choose another directory with --data-dir.`,
      { cause: error },
    )
  }
  return parse(readKeyFile(own), own)
}

/**
 * The key that will replace the master key. Throws a TypeError like `readMasterKey`, and when it is
 * the old key.
 */
export function readNewMasterKey(
  env: Readonly<Record<string, string | undefined>>,
  old: Uint8Array,
): Uint8Array {
  const { COUNTERSIGN_MASTER_KEY_NEW: text, COUNTERSIGN_MASTER_KEY_NEW_FILE: file } = env
  if (text !== undefined && file !== undefined)
    throw new TypeError(
      'COUNTERSIGN_MASTER_KEY_NEW and COUNTERSIGN_MASTER_KEY_NEW_FILE are both set; set one of them',
    )
  if (text === undefined && file === undefined)
    throw new TypeError(
      `there is no new master key; set COUNTERSIGN_MASTER_KEY_NEW or COUNTERSIGN_MASTER_KEY_NEW_FILE to ${HOW}`,
    )
  const key =
    text === undefined
      ? parse(readNewKeyFile(file ?? ''), 'the file of COUNTERSIGN_MASTER_KEY_NEW_FILE')
      : parse(text, 'COUNTERSIGN_MASTER_KEY_NEW')
  if (Buffer.from(key).equals(old)) throw new TypeError('the new master key is the old one')
  return key
}

function parse(text: string, where: string): Uint8Array {
  const trimmed = text.trim()
  const isHex = /^[0-9a-f]{64}$/i.test(trimmed)
  const bytes =
    isHex || /^[A-Za-z0-9_+/-]{43}=?$/.test(trimmed)
      ? Buffer.from(trimmed, isHex ? 'hex' : 'base64url')
      : undefined
  if (bytes?.length !== BYTES) throw new TypeError(`${where} must hold ${HOW}`)
  if (bytes.every((byte) => byte === bytes[0]))
    throw new TypeError(`${where} repeats one byte; it must hold ${HOW}`)
  return bytes
}

function readNewKeyFile(file: string): string {
  const text = tryReadKeyFile(file)
  if (text === undefined) throw new TypeError(`COUNTERSIGN_MASTER_KEY_NEW_FILE: there is no file ${file}`)
  return text
}

function tryReadKeyFile(file: string): string | undefined {
  try {
    return readKeyFile(file)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

/**
 * Checks the mode of the file that it reads. A group may read it, as secrets mounted into
 * containers need; other users may not.
 */
function readKeyFile(file: string): string {
  const handle = openSync(file, 'r')
  try {
    const { mode, size } = fstatSync(handle)
    if ((mode & 0o037) !== 0)
      throw new TypeError(
        `${file} can be read or written by others (mode ${(mode & 0o777).toString(8)}); chmod 600 it`,
      )
    if (size > FILE_BYTES_MAX)
      throw new TypeError(`${file} is too large for a master key; it must hold ${HOW}`)
    return readFileSync(handle, 'utf8')
  } finally {
    closeSync(handle)
  }
}

/**
 * The file is complete and durable before it gets its name: a store could not be opened with half a
 * key or a lost one. When two processes create a key at the same time, the first to name it wins.
 */
function makeKeyFile(file: string): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  const draft = `${file}.${randomBytes(6).toString('hex')}`
  writeSynced(draft, `${randomBytes(BYTES).toString('hex')}\n`)
  try {
    linkSync(draft, file)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  } finally {
    unlinkSync(draft)
  }
  const directory = openSync(dirname(file), 'r')
  fsyncSync(directory)
  closeSync(directory)
}

function writeSynced(file: string, text: string): void {
  const handle = openSync(file, 'wx', 0o600)
  try {
    writeSync(handle, text)
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
}
