import type { Client } from '@countersign/sdk'
import { CommandError, type Given, UsageError, type Verb } from '../command.ts'
import type { LogCursor } from '../feed/follow-feed.ts'
import { connect, requireSite, type Target } from '../service/connection.ts'
import { entryTarget } from '../terminal/entry-target.ts'
import { type Terminal, visible } from '../terminal/output.ts'
import { pause, untilStopped } from '../terminal/until-stopped.ts'

const VERIFIERS_MS = 2000

export const watch: Verb = {
  shares: ['site', 'service'],
  options: [
    ['--after <epoch.seq>', 'start after this entry; default: with the next new entry'],
    ['--count <n>', 'stop after n entries'],
  ],
  examples: [
    ['countersign watch', 'print every revocation and every change of trust as it happens'],
    [
      'countersign watch --json | jq -c "select(.event == \\"user.revoked\\")"',
      'filter entries in a program',
    ],
    ['countersign watch --after k3v9x2q7.0 --count 10', 'print the first ten entries of the log'],
  ],
  about: [
    'Follows the feed as an observer, which receipts do not count, and checks that every entry continues the one before it. Needs a key with feed:read; with site:read it also prints how many verifiers follow the site and how far they lag. The lag of an entry is the time between its time in the log and its arrival, by both clocks. Stop it with Ctrl-C.',
  ],
  async run(given, at) {
    const countMax = given.integer('count', { min: 1, max: 1_000_000_000 }) ?? Number.POSITIVE_INFINITY
    const target = await connect(given, at)
    const [{ createObserverApi, loadSite, toFeedError }, { followFeed }, { LogCorrupted }] =
      await Promise.all([
        import('../feed/load-site.ts'),
        import('../feed/follow-feed.ts'),
        import('@countersign/sdk/feed'),
      ])
    const service = createObserverApi(target)
    const from = parseCursor(given) ?? (await loadSite(target)).head
    const stop = untilStopped()
    const verifiers = watchVerifiers(target, at, stop.signal)
    let count = 0
    try {
      for await (const event of followFeed(service, from, stop.signal)) {
        if (event.kind === 'entry') {
          const { entry } = event
          const lagMs = Date.now() - Date.parse(entry.at)
          at.item({ event: entry.kind, ...entry, lag_ms: lagMs }, () => entryText(entry, lagMs, at))
          verifiers.draw()
          if (++count >= countMax) break
        } else if (event.kind === 'connected')
          at.note(
            `Following ${requireSite(target)} after ${from.epoch}.${from.seq + count}. Stop with Ctrl-C.`,
          )
        else if (event.kind === 'lost')
          at.note(
            `${visible(event.why).replace(/\.$/, '')}. The next try is in ${Math.round(event.waitMs / 100) / 10} s.`,
          )
        else verifiers.proven(event.seq)
      }
    } catch (fault) {
      throw fault instanceof LogCorrupted
        ? new CommandError(
            'not_the_log',
            `${fault.message} Check the log of the service: countersign audit-log`,
            3,
          )
        : toFeedError(fault)
    } finally {
      stop.abort()
      at.progress(undefined)
    }
    return 0
  },
}

function parseCursor(given: Given): LogCursor | undefined {
  const text = given.text('after')
  if (text === undefined) return undefined
  const [, epoch, seq] = /^([0-9a-z]{8,32})\.(\d{1,15})$/.exec(text) ?? []
  if (epoch === undefined || seq === undefined)
    throw new UsageError('--after must be epoch.seq, as a revocation prints it under log')
  return { epoch, seq: Number(seq), hash: undefined }
}

interface Shown {
  readonly kind: string
  readonly seq: number
  readonly at: string
  readonly body: object
}

/** Kinds that revoke something. */
const REMOVES = /revoked|distrusted|retired|compromised/

function entryText({ kind, seq, at: time, body }: Shown, lagMs: number, at: Terminal): string {
  const painted = at.paint(REMOVES.test(kind) ? 'red' : 'green', kind.padEnd(18))
  return `${time}  ${String(seq).padStart(5)}  ${painted}  ${visible(entryTarget(body))}  ${at.paint('dim', `+${lagMs} ms`)}`
}

/**
 * Draws a line below the entries: how many verifiers follow the site, and their lag. Draws nothing
 * if the key may not list verifiers.
 */
function watchVerifiers(target: Target & { readonly client: Client }, at: Terminal, signal: AbortSignal) {
  let line = ''
  let provenAtMs: number | undefined
  let provenSeq = 0
  const draw = () => {
    const proof =
      provenAtMs === undefined
        ? ''
        : `log at ${provenSeq}, proven ${((performance.now() - provenAtMs) / 1000).toFixed(1)} s ago`
    at.progress([line, proof].filter((part) => part !== '').join(' · '))
  }
  const look = async () => {
    const { items } = await target.client.listVerifiers({ site_id: requireSite(target), limit: 200 })
    const others = items.filter(({ state }) => state === 'connected' || state === 'silent')
    const behind = others.filter(({ lag }) => lag > 0)
    const lagMax = Math.max(0, ...others.map(({ lag }) => lag))
    const text = `${others.length} ${others.length === 1 ? 'verifier' : 'verifiers'}, ${behind.length === 0 ? 'none behind' : `${behind.length} behind, the slowest by ${lagMax}`}`
    if (text === line) return
    line = text
    if (at.isJson)
      at.item(
        { event: 'verifiers', connected: others.length, behind: behind.length, lag_max: lagMax },
        () => '',
      )
    else if (!at.canRedraw) at.note(text)
  }
  const run = async () => {
    while (!signal.aborted) {
      try {
        await look()
      } catch (fault) {
        // This key may follow the feed but not list verifiers.
        if (fault instanceof Error && 'status' in fault && (fault.status === 403 || fault.status === 404))
          return
      }
      if (!signal.aborted) draw()
      await pause(VERIFIERS_MS, signal)
    }
  }
  void run()
  return {
    draw,
    proven(seq: number) {
      provenAtMs = performance.now()
      provenSeq = seq
      draw()
    },
  }
}
