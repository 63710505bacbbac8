import { hash } from 'node:crypto'
import {
  checkSnapshot,
  type PageLine,
  parseMultikey,
  parseSnapshotLine,
  type SiteId,
  SiteView,
  type SnapshotHead,
} from '@countersign/core'
import type { FeedNode } from '../feed-node.ts'

export interface ReadSnapshot {
  readonly head: SnapshotHead
  readonly pages: readonly PageLine[]
  /** The types of the lines that are not in pages. */
  readonly types: readonly string[]
  readonly view: SiteView
}

/**
 * What a careful verifier makes of a snapshot: a view, or an error that says what is wrong with it.
 */
export async function readSnapshot(node: FeedNode, siteId: SiteId, text: string): Promise<ReadSnapshot> {
  const discovery = await node.call('GET', '/.well-known/countersign')
  if (!text.endsWith('\n')) throw new Error('its last line has no end')
  const lines = text.split('\n').slice(0, -1)
  const last = lines.pop() ?? ''
  const end = parseSnapshotLine(JSON.parse(last))
  const head = parseSnapshotLine(JSON.parse(lines[0] ?? '{}'))
  if (head?.type !== 'head' || end?.type !== 'end') throw new Error('it has no head or no end')
  const view = new SiteView({ siteId })
  const loading = view.beginLoad(head)
  const outside: string[] = []
  const pages: PageLine[] = []
  for (let i = 0; i < lines.length; i++) {
    const line = parseSnapshotLine(JSON.parse(lines[i] as string))
    outside.push(lines[i] as string)
    if (line === undefined || line.type === 'end' || (line.type === 'head') !== (i === 0))
      throw new Error('a line cannot be read')
    if (line.type === 'page') {
      const own = lines.slice(i + 1, i + 1 + line.lines)
      i += line.lines
      if (line.from_seq !== (pages.at(-1)?.to_seq ?? 0) + 1 || line.to_seq > head.seq)
        throw new Error('a page is missing')
      if (hash('sha256', own.map((each) => `${each}\n`).join('')) !== line.sha256)
        throw new Error('a page has another digest')
      for (const each of own) loading.add(parseSnapshotLine(JSON.parse(each)) as never)
      pages.push(line)
    } else if (line.type !== 'head' && line.type !== 'epoch') loading.add(line)
  }
  const signed = discovery.json.feed.keys.find(({ kid }: { kid: string }) => kid === end.kid)
  const key = parseMultikey(signed?.public_key_multibase)
  if (key === undefined) throw new Error('the key is not known')
  const sha256 = hash('sha256', outside.map((each) => `${each}\n`).join(''))
  const proof = await checkSnapshot(head, end, { lines: outside.length, sha256 }, key)
  if (proof === undefined) throw new Error('its signature is invalid')
  if (loading.commit(proof) !== 'loaded') throw new Error('it cannot be loaded')
  return { head, pages, types: outside.map((each) => JSON.parse(each).type as string), view }
}
