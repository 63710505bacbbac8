import type { LogEntry, LogPage } from '@countersign/core/contract'
import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { call, send } from '../api/call.ts'
import { Icon } from '../components/icon.tsx'
import { Id, shorten } from '../components/id.tsx'
import { StateMark } from '../components/state.tsx'
import { entriesSeen } from '../live.ts'
import type { FeedKey, Proof } from '../log/verify-log.ts'
import { describe } from '../revoke/state.ts'
import { formatMoment } from '../time.ts'

interface Head {
  readonly seq: number
  readonly hash: string
  readonly kid: string
}

interface Shown {
  readonly entries: readonly LogEntry[]
  readonly head: Head | undefined
  readonly base: number
  readonly cursor: string | null
  readonly proof: Proof | 'checking'
}

/** The log, newest first. Hashes and signatures are computed in this browser. */
export function Log({ siteId }: { readonly siteId: string }): JSX.Element {
  const [shown, setShown] = useState<Shown>()
  const [fault, setFault] = useState<string>()
  const seen = entriesSeen.value
  const load = async (before: Shown | undefined) => {
    try {
      setShown(await loadPage(siteId, before, setShown))
      setFault(undefined)
    } catch (thrown) {
      setFault(describe(thrown))
    }
  }
  useEffect(() => void load(undefined), [siteId, seen])
  return (
    <>
      <div class="title">
        <div>
          <h1>Log</h1>
          <p class="meta">
            Every change of access at this site, in order. Entries cannot be changed or removed unnoticed.
          </p>
        </div>
      </div>
      {fault !== undefined && (
        <p class="fault" role="alert">
          {fault}
        </p>
      )}
      {shown !== undefined && <ProofCard {...shown} />}
      <ol class="card chain">
        {shown?.entries.map((entry) => (
          <Entry key={entry.seq} entry={entry} proof={shown.proof} />
        ))}
      </ol>
      {shown?.cursor && (
        <button type="button" class="more" onClick={() => void load(shown)}>
          Show more
        </button>
      )}
    </>
  )
}

/** Loads the next page and checks all entries again from the signed head on. */
async function loadPage(
  siteId: string,
  before: Shown | undefined,
  onProgress: (shown: Shown) => void,
): Promise<Shown> {
  const { verifyEntries, verifyHead } = await import('../log/verify-log.ts')
  const head = before?.head ?? (await loadHead(siteId, verifyHead))
  const query = { limit: 100, cursor: before?.cursor ?? undefined }
  const page = await call<LogPage & { next_cursor: string | null }>(`/api/sites/${siteId}/log`, {
    site: siteId,
    query,
  })
  const known = before?.entries ?? []
  // Entries that were appended since the head was signed are not proven yet.
  const entries = [...known, ...page.items.filter(({ seq }) => head === undefined || seq <= head.seq)]
  const shown: Shown = { entries, head, base: page.base.seq, cursor: page.next_cursor, proof: 'checking' }
  onProgress(shown)
  const proof: Proof =
    head === undefined
      ? { ok: false, seq: entries[0]?.seq ?? 0, why: 'is not covered by a valid signature' }
      : await verifyEntries(entries, head.hash)
  return { ...shown, proof }
}

async function loadHead(
  siteId: string,
  verify: (value: unknown, keys: readonly FeedKey[]) => Promise<Head | undefined>,
): Promise<Head | undefined> {
  const discovery = (await (await send('/.well-known/countersign')).json()) as {
    feed: { keys: readonly FeedKey[] }
  }
  return verify(
    await call(`/api/sites/${siteId}/head`, { site: siteId, query: { observe: 1 } }),
    discovery.feed.keys,
  )
}

function ProofCard({ proof, head, base }: Shown): JSX.Element {
  if (proof === 'checking')
    return (
      <p class="banner" role="status">
        Checking in this browser…
      </p>
    )
  if (!proof.ok)
    return (
      <p class="banner red" role="alert">
        <strong>
          Entry {proof.seq} {proof.why}.
        </strong>
        <span>Do not trust what follows. Compare with another node, and keep this page.</span>
      </p>
    )
  return (
    <p class="banner green" role="status">
      <strong>{proof.hashes.toLocaleString('en')} hashes recomputed in this browser, and all match.</strong>
      <span>
        <Icon name="lock" /> Head {head?.seq.toLocaleString('en')} signed with {head?.kid}
        {base > 0 ? `; entries up to ${base.toLocaleString('en')} are no longer kept` : ''}
      </span>
    </p>
  )
}

const NAMES = ['ppid', 'credential_id', 'token_sha256', 'issuer', 'thumbprint'] as const

function Entry({ entry, proof }: { readonly entry: LogEntry; readonly proof: Shown['proof'] }): JSX.Element {
  const body = entry.body as Readonly<Record<string, unknown>>
  const target = NAMES.map((name) => body[name]).find((value) => typeof value === 'string') as
    | string
    | undefined
  const isWrong = proof !== 'checking' && !proof.ok && entry.seq <= proof.seq
  const tone = proof === 'checking' ? 'none' : isWrong ? 'bad' : 'good'
  return (
    <li>
      <details>
        <summary>
          <StateMark tone={tone} />
          <span class="seq">{entry.seq}</span>
          <span class="kind">{entry.kind.replace('.', ' ').replaceAll('_', ' ')}</span>
          <span class="grow">{target !== undefined && <Id value={target} />}</span>
          <code class="hash extra" title={entry.hash}>
            {shorten(entry.hash).slice(0, 8)}
          </code>
          <time dateTime={entry.at}>{formatMoment(entry.at)}</time>
        </summary>
        <pre>{JSON.stringify(entry, undefined, 2)}</pre>
      </details>
    </li>
  )
}
