import {
  checkHeartbeat,
  checkSnapshot,
  createSha256,
  findHeadKey,
  type PageLine,
  parseHeartbeat,
  parseSiteId,
  parseSnapshotLine,
  readPageLines,
  SiteView,
  type SnapshotHead,
  type SnapshotLoad,
} from '@countersign/core'
import { call, send } from '../api/call.ts'
import { serviceNowMs } from '../live.ts'
import { loadFeedChain } from '../log/feed-keys.ts'
import { say } from '../say.ts'

const NEWLINE = 10
const TIMEOUT_MS = 120_000

/** The clocks that the age of a view is measured with. */
export function readClocks(): { readonly wallMs: number; readonly monotonicMs: number } {
  return { wallMs: serviceNowMs(), monotonicMs: performance.now() }
}

/**
 * Loads the trust and the revocations of a site from a signed snapshot, as a guard does. What is
 * loaded depends on the site only. Throws if no feed key has signed it.
 */
export async function loadView(siteId: string, signal: AbortSignal): Promise<SiteView> {
  const parsedId = parseSiteId(siteId)
  if (parsedId === undefined) throw new TypeError(say('This is not the id of a site.'))
  const chain = await loadFeedChain(signal)
  const { monotonicMs } = readClocks()
  const answer = await send(`/console/api/sites/${siteId}/snapshot`, {
    site: siteId,
    query: { observe: 1 },
    signal,
    timeoutMs: TIMEOUT_MS,
  })
  const view = new SiteView({ siteId: parsedId })
  const snapshot = await readSnapshot(new Uint8Array(await answer.arrayBuffer()), view)
  const key = await findHeadKey(chain, snapshot.end.kid)
  const { head, end, received, load } = snapshot
  const proof = typeof key === 'string' ? undefined : await checkSnapshot(head, end, received, key)
  if (proof === undefined || load.commit(proof) !== 'loaded')
    throw new Error(
      say('The data of this site is not signed by a feed key of the service, so it is not used.'),
    )
  view.confirmHead(proof, { ...readClocks(), monotonicMs })
  return view
}

/** Proves that a view is still current. False when it must be loaded again. */
export async function refreshView(view: SiteView, signal: AbortSignal): Promise<boolean> {
  const { monotonicMs } = readClocks()
  const head = parseHeartbeat(
    await call(`/api/sites/${view.siteId}/head`, { site: view.siteId, query: { observe: 1 }, signal }),
  )
  const key = head && (await findHeadKey(await loadFeedChain(signal), head.kid))
  const proof =
    head === undefined || key === undefined || typeof key === 'string'
      ? undefined
      : await checkHeartbeat(head, key)
  if (proof === undefined) return true
  const result = view.confirmHead(proof, { ...readClocks(), monotonicMs })
  return result === 'proven' || result === 'outdated' || result === 'too_early'
}

async function readSnapshot(bytes: Uint8Array, view: SiteView) {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  const sha256 = createSha256()
  let head: SnapshotHead | undefined
  let load: SnapshotLoad | undefined
  let lines = 0
  for (let at = 0; at < bytes.length; ) {
    const next = bytes.indexOf(NEWLINE, at)
    const end = next === -1 ? bytes.length : next + 1
    const line = parseSnapshotLine(JSON.parse(decoder.decode(bytes.subarray(at, end))))
    if (line === undefined) throw unreadable()
    if (line.type === 'end') {
      if (head === undefined || load === undefined || end !== bytes.length) throw unreadable()
      return { head, load, end: line, received: { lines, sha256: await sha256.hex() } }
    }
    sha256.update(bytes.subarray(at, end))
    lines++
    at = end
    if (line.type === 'head') {
      if (head !== undefined) throw unreadable()
      head = line
      load = view.beginLoad(line)
    } else if (line.type === 'page') at = await readPage(bytes, at, line, load, decoder)
    else if (line.type !== 'epoch') load?.add(line)
  }
  throw unreadable()
}

/** Reads the lines of a page, and returns where it ends. */
async function readPage(
  bytes: Uint8Array,
  start: number,
  { lines, sha256 }: PageLine,
  load: SnapshotLoad | undefined,
  decoder: TextDecoder,
): Promise<number> {
  let end = start
  for (let n = 0; n < lines; n++) end = bytes.indexOf(NEWLINE, end) + 1 || bytes.length
  const page = bytes.subarray(start, end)
  const digest = createSha256()
  digest.update(page)
  if ((await digest.hex()) !== sha256) throw unreadable()
  readPageLines(decoder.decode(page), (line) => load?.add(line))
  return end
}

function unreadable(): Error {
  return new Error(say('The data of this site cannot be read.'))
}
