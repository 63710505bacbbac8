import type { Receipt, ReceiptSummary } from '@countersign/core/contract'
import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { call, send } from '../api/call.ts'
import { Icon, Seal } from '../components/icon.tsx'
import { List } from '../components/list.tsx'
import { Pill, StateMark } from '../components/state.tsx'
import type { FeedKey } from '../log/verify-log.ts'
import { describe } from '../revoke/state.ts'
import { place, sitePath } from '../router.ts'
import { formatDuration, formatExact, formatMoment } from '../time.ts'

export function Receipts({ siteId }: { readonly siteId: string }): JSX.Element {
  const { id } = place.value
  if (id !== undefined) return <OneReceipt key={id} siteId={siteId} seq={id} />
  return (
    <List<ReceiptSummary>
      title="Receipts"
      about="A signed receipt for every entry that takes access away: who applied it, and after how long."
      siteId={siteId}
      path={`/api/sites/${siteId}/receipts`}
      isLive
      filters={[
        {
          name: 'state',
          label: 'State',
          values: [
            ['', 'All'],
            ['complete', 'Complete'],
            ['waiting', 'Waiting'],
          ],
        },
      ]}
      toKey={({ seq }) => String(seq)}
      toHref={({ seq }) => sitePath(siteId, 'receipts', String(seq))}
      columns={[
        { title: 'Entry', cell: ({ seq }) => seq.toLocaleString('en') },
        { title: 'What', cell: ({ kind, drill_id }) => (drill_id === null ? toWords(kind) : 'Drill') },
        { title: 'Applied by', cell: (each) => <Applied {...each} /> },
        {
          title: 'Last after',
          cell: ({ elapsed_ms }) => (elapsed_ms === null ? '–' : formatDuration(elapsed_ms)),
          isNumber: true,
        },
        { title: 'Time', cell: ({ at }) => formatMoment(at), isNumber: true, isExtra: true },
      ]}
      empty={{
        sentence: 'Nothing has been revoked at this site. A drill shows what a receipt looks like.',
        command: `countersign drill --site ${siteId}`,
      }}
    />
  )
}

function toWords(kind: string): string {
  const text = kind.replace('.', ' ').replaceAll('_', ' ')
  return text[0]?.toUpperCase() + text.slice(1)
}

export function Applied({
  acknowledged,
  expected,
  state,
}: Pick<ReceiptSummary, 'acknowledged' | 'expected' | 'state'>): JSX.Element {
  if (expected === 0) return <Pill tone="none">No verifier</Pill>
  const tone = acknowledged === expected ? 'good' : state === 'complete' ? 'gone' : 'late'
  return (
    <Pill tone={tone}>
      {acknowledged} of {expected}
    </Pill>
  )
}

/** A receipt as a paper, checked in this browser. It prints on one page. */
function OneReceipt({ siteId, seq }: { readonly siteId: string; readonly seq: string }): JSX.Element {
  const [receipt, setReceipt] = useState<Receipt>()
  const [isSigned, setIsSigned] = useState<boolean>()
  const [fault, setFault] = useState<string>()
  useEffect(() => {
    const load = async () => {
      const found = await call<Receipt>(`/api/sites/${siteId}/receipts/${encodeURIComponent(seq)}`, {
        site: siteId,
      })
      setReceipt(found)
      setIsSigned(await isValid(found))
    }
    load().catch((thrown) => setFault(describe(thrown)))
  }, [siteId, seq])
  return (
    <>
      <p class="meta no-print">
        <a href={sitePath(siteId, 'receipts')}>Receipts</a>
      </p>
      {fault !== undefined && (
        <p class="fault" role="alert">
          {fault}
        </p>
      )}
      {receipt !== undefined && (
        <article class="card paper">
          <header>
            <Seal isProven={isSigned === true && isDenied(receipt)} />
            <div>
              <h1>Receipt {receipt.seq}</h1>
              <p class="lead">
                {toWords(receipt.kind)} at {siteId},{' '}
                {new Date(receipt.at).toISOString().replace('T', ' ').slice(0, 19)} UTC
              </p>
            </div>
          </header>
          <p class="lead">
            <strong>
              {receipt.acknowledged} of {receipt.expected}
            </strong>{' '}
            verifiers have applied it
            {receipt.elapsed_ms === null ? (
              '.'
            ) : (
              <>
                , the last after <strong>{formatDuration(receipt.elapsed_ms)}</strong>.
              </>
            )}
          </p>
          {receipt.denied_everywhere_at !== null ? (
            <p class={isDenied(receipt) ? 'banner green' : 'banner'}>
              <strong>Denied everywhere at</strong>
              <time>{formatExact(receipt.denied_everywhere_at)} UTC</time>
            </p>
          ) : (
            <p class="banner amber">
              <strong>Not denied everywhere.</strong> A verifier fails open.
            </p>
          )}
          <ul class="bars">
            {receipt.verifiers.map(({ verifier_id, instance_id, state, after_ms, rejects_from }) => (
              <li key={`${verifier_id} ${instance_id}`}>
                <span class="name">{verifier_id}</span>
                {after_ms === null ? (
                  <span class="waiting">
                    <StateMark tone={state === 'gone' ? 'gone' : 'none'} />
                    {state}
                    {rejects_from === null ? '' : `, rejects everything from ${formatMoment(rejects_from)}`}
                  </span>
                ) : (
                  <>
                    <svg class="bar" height="12" aria-hidden="true">
                      <rect
                        width={`${Math.max(1, (100 * after_ms) / Math.max(50, receipt.elapsed_ms ?? after_ms))}%`}
                        height="12"
                        rx="2"
                      />
                    </svg>
                    <span class="ms">{formatDuration(after_ms)}</span>
                  </>
                )}
              </li>
            ))}
          </ul>
          <p class={isSigned === false ? 'fault' : 'meta'} role="status">
            <Icon name="lock" /> {signatureWords(isSigned, receipt.kid)}
          </p>
          <footer class="no-print">
            <a
              class="button"
              download={`receipt-${siteId}-${receipt.seq}.json`}
              href={URL.createObjectURL(new Blob([JSON.stringify(receipt)], { type: 'application/json' }))}
            >
              Download
            </a>
            <button type="button" onClick={() => print()}>
              Print
            </button>
          </footer>
        </article>
      )}
    </>
  )
}

function signatureWords(isSigned: boolean | undefined, kid: string): string {
  if (isSigned === undefined) return 'Checking the signature in this browser…'
  return isSigned
    ? `Signed with feed key ${kid}. Checked in this browser.`
    : 'The signature does not match. Do not rely on this receipt.'
}

function isDenied({ denied_everywhere_at, as_of }: Receipt): boolean {
  return (
    denied_everywhere_at !== null &&
    denied_everywhere_at <= (as_of > new Date().toISOString() ? as_of : new Date().toISOString())
  )
}

async function isValid(receipt: Receipt): Promise<boolean> {
  const { verifyReceipt } = await import('../log/verify-log.ts')
  const discovery = (await (await send('/.well-known/countersign')).json()) as {
    feed: { keys: readonly FeedKey[]; chain: readonly FeedKey[] }
  }
  // A receipt may be older than the key that signs now.
  return verifyReceipt(receipt, [...discovery.feed.keys, ...discovery.feed.chain])
}
