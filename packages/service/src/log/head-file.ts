import { existsSync, readFileSync, renameSync } from 'node:fs'
import { mkdir, open, rename } from 'node:fs/promises'
import { dirname } from 'node:path'
import { type Heartbeat, parseHeartbeat, type SiteId } from '@countersign/core'
import { WORKERS_MAX } from '../config.ts'

/** The last signed head of each site, as the file outside the store has it. */
export interface KeptHeads {
  readonly heads: ReadonlyMap<SiteId, Heartbeat>
  /** Lines that are not a signed head, such as one that a crash has cut. */
  readonly unreadable: number
}

/** Each worker has a head file of its own. `index` counts from 0. */
export function toWorkerHeadFile(file: string, index: number): string {
  return index === 0 ? file : `${file}.${index}`
}

/** The head files that the workers of this machine have written, also those of former workers. */
export function findHeadFiles(file: string): readonly string[] {
  const files = Array.from({ length: WORKERS_MAX }, (_, index) => toWorkerHeadFile(file, index))
  return files.filter((each) => existsSync(each))
}

/**
 * Reads the file: one signed heartbeat per line, as JSON. Undefined when there is no file. Throws
 * when it cannot be read.
 */
export function readHeadFile(file: string): KeptHeads | undefined {
  if (!existsSync(file)) return undefined
  const heads = new Map<SiteId, Heartbeat>()
  let unreadable = 0
  for (const line of readFileSync(file, 'utf8').split('\n')) {
    if (line === '') continue
    const head = parseLine(line)
    if (head === undefined) unreadable++
    else heads.set(head.site_id, head)
  }
  return { heads, unreadable }
}

function parseLine(line: string): Heartbeat | undefined {
  try {
    return parseHeartbeat(JSON.parse(line))
  } catch {
    return undefined
  }
}

export function toHeadLine(head: Heartbeat): string {
  return `${JSON.stringify(head)}\n`
}

/**
 * Replaces the file, for its owner only, so that a crash leaves the old one or the new one.
 * Resolves when that is durable.
 */
export async function writeHeadFile(file: string, lines: Iterable<string>): Promise<void> {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 })
  const draft = `${file}.${process.pid}.new`
  const handle = await open(draft, 'w', 0o600)
  try {
    await handle.writeFile([...lines].join(''))
    await handle.sync()
  } finally {
    await handle.close()
  }
  await rename(draft, file)
  const directory = await open(dirname(file), 'r')
  try {
    await directory.sync()
  } finally {
    await directory.close()
  }
}

/**
 * Renames the file, when the log no longer has to continue its heads. Returns the new name, or
 * undefined when there is no file.
 */
export function setHeadFileAside(file: string, epoch: string): string | undefined {
  if (!existsSync(file)) return undefined
  const aside = `${file}.before-${epoch}`
  renameSync(file, aside)
  return aside
}
