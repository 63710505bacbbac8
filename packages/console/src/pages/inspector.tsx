import { say, sayList } from '../say.ts'
import '../style/inspector.css'
import type { SiteView } from '@countersign/core'
import type { JSX } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { useLoad } from '../api/use-load.ts'
import { copyText } from '../components/copy.tsx'
import { Icon } from '../components/icon.tsx'
import { shorten } from '../components/id.tsx'
import { Pill, StateMark, type Tone } from '../components/state.tsx'
import type { InspectedCheck, Inspection } from '../inspector/inspect.ts'
import { serviceNowMs } from '../live.ts'
import { describe } from '../revoke/state.ts'
import { sitePath } from '../router.ts'
import type { SiteProps } from '../site-props.ts'
import { formatMoment } from '../time.ts'

const EXAMPLE = `X-Service-Credential: eyJAY29udGV4dCI6…

${say('or the output of curl -v:')}

> GET /orders HTTP/1.1
> Host: shop.example
> X-Service-Credential: eyJ…`

/** The default of a guard. */
const AGE_MS_MAX = 30_000
/** The data of the site is proven again this often, whatever is pasted. */
const REFRESH_MS = 5000

interface Loaded {
  readonly view: SiteView | undefined
  readonly fault: string | undefined
  /** Increases whenever the view was proven again. */
  readonly version: number
}

/** The trust and the revocations of the site, kept current. It depends on the site only. */
function useView(siteId: string): Loaded {
  const [loaded, setLoaded] = useState<Loaded>({ view: undefined, fault: undefined, version: 0 })
  const current = useRef<SiteView | undefined>(undefined)
  useEffect(() => {
    const stop = new AbortController()
    current.current = undefined
    const update = async () => {
      try {
        const { loadView, refreshView } = await import('../inspector/load-view.ts')
        const known = current.current
        const isCurrent = known !== undefined && (await refreshView(known, stop.signal))
        const view = isCurrent ? known : await loadView(siteId, stop.signal)
        if (stop.signal.aborted) return
        current.current = view
        setLoaded((last) => ({ view, fault: undefined, version: last.version + 1 }))
      } catch (thrown) {
        if (!stop.signal.aborted)
          setLoaded((last) => ({ ...last, fault: describe(thrown), version: last.version + 1 }))
      }
    }
    void update()
    const timer = setInterval(() => void update(), REFRESH_MS)
    return () => {
      stop.abort()
      clearInterval(timer)
    }
  }, [siteId])
  return loaded
}

/** Explains a credential, token or request with the code that verifiers run. Nothing is sent. */
export function Inspector({ siteId }: SiteProps): JSX.Element {
  const [text, setText] = useState('')
  const [scope, setScope] = useState('')
  const [time, setTime] = useState('')
  const { view, fault, version } = useView(siteId)
  const [found, setFound] = useState<Inspection | 'bad_scope' | 'bad_time'>()
  useEffect(() => {
    let isCurrent = true
    const run = async (): Promise<Inspection | 'bad_scope' | 'bad_time' | undefined> => {
      if (view === undefined) return undefined
      const { readPaste } = await import('../inspector/read-paste.ts')
      const { inspect } = await import('../inspector/inspect.ts')
      const { readClocks } = await import('../inspector/load-view.ts')
      const paste = readPaste(text)
      if (paste === undefined) return undefined
      const nowMs = time.trim() === '' ? serviceNowMs() : Date.parse(time.trim())
      if (Number.isNaN(nowMs)) return 'bad_time'
      const data = { site: view, ageMs: view.ageMs(readClocks()), ageMsMax: AGE_MS_MAX }
      return (await inspect(paste, { data, scope, nowMs })) ?? 'bad_scope'
    }
    run().then(
      (next) => isCurrent && setFound(next),
      () => isCurrent && setFound(undefined),
    )
    return () => {
      isCurrent = false
    }
  }, [text, scope, time, view, version])
  const inspection = typeof found === 'object' ? found : undefined
  return (
    <>
      <div class="title">
        <div>
          <h1>{say('Inspector')}</h1>
          <p class="meta">
            {say(
              'Paste a credential, a JWT, a bearer token or a whole HTTP request. Nothing that you paste leaves this page.',
            )}
          </p>
        </div>
        <span class="acts">
          <button type="button" disabled={text === ''} onClick={() => setText('')}>
            {say('Clear')}
          </button>
          <button
            type="button"
            disabled={inspection === undefined}
            onClick={() => inspection !== undefined && void copyText(toText(siteId, inspection))}
          >
            <Icon name="copy" /> {say('Copy result')}
          </button>
        </span>
      </div>
      <div class="inspect">
        <section class="card flush">
          <div class="pad">
            <div class="row">
              <label for="pasted">{say('Presented')}</label>
              {inspection !== undefined && <Pill tone="none">{inspection.what}</Pill>}
            </div>
            <textarea
              id="pasted"
              class="raw"
              value={text}
              rows={8}
              spellcheck={false}
              autocomplete="off"
              autocapitalize="off"
              placeholder={EXAMPLE}
              onInput={(event) => setText(event.currentTarget.value)}
            />
          </div>
          {inspection !== undefined && inspection.chain.length > 1 && <Chain inspection={inspection} />}
          {inspection !== undefined && inspection.claims.length > 0 && <Claims inspection={inspection} />}
          <p class="pad where-checked">
            <Icon name="verifiers" />
            <span>
              {view === undefined
                ? (fault ?? say('Loading the trust and the revocations of the site…'))
                : say(
                    'Your browser runs the code that verifiers run, against entry {seq} of the log of {siteId}.',
                    { seq: view.head.seq, siteId },
                  )}{' '}
              {view !== undefined &&
                fault !== undefined &&
                say('It could not be proven again: {fault}', { fault })}
            </span>
          </p>
        </section>
        <section class="card flush" aria-label={say('Result')}>
          <div class="pad asked">
            <label>
              {say('At site')}
              <input value={siteId} readOnly />
            </label>
            <label>
              {say('With scope')}
              <input
                value={scope}
                placeholder={say('any')}
                autocomplete="off"
                spellcheck={false}
                aria-invalid={found === 'bad_scope'}
                onInput={(event) => setScope(event.currentTarget.value)}
              />
            </label>
            <label>
              {say('At time')}
              <input
                value={time}
                placeholder={say('Now')}
                autocomplete="off"
                aria-invalid={found === 'bad_time'}
                onInput={(event) => setTime(event.currentTarget.value)}
              />
            </label>
          </div>
          {found === 'bad_scope' && (
            <p class="fault" role="alert">
              {say('A scope is lower-case, such as orders:read. Separate several with blanks.')}
            </p>
          )}
          {found === 'bad_time' && (
            <p class="fault" role="alert">
              {say('Write the time as 2027-01-31T12:00:00Z.')}
            </p>
          )}
          {inspection === undefined ? (
            <p class="pad meta">
              {say('Each check appears here, in the order in which verifiers run them.')}
            </p>
          ) : (
            <Result siteId={siteId} inspection={inspection} />
          )}
        </section>
      </div>
    </>
  )
}

const VERDICTS: Readonly<Record<Inspection['verdict'], Tone>> = {
  accepted: 'good',
  accepted_if: 'soon',
  rejected: 'bad',
  not_known: 'soon',
}
const MARKS: Readonly<Record<InspectedCheck['result'], Tone>> = {
  passed: 'good',
  denied: 'bad',
  skipped: 'none',
  not_checked: 'none',
}
const WORDS: Readonly<Record<InspectedCheck['result'], string>> = {
  passed: say('passed'),
  denied: say('rejected'),
  skipped: say('skipped'),
  not_checked: say('not checked'),
}

function Result({ siteId, inspection }: SiteProps & { readonly inspection: Inspection }): JSX.Element {
  const { verdict, title, code, status, checks } = inspection
  return (
    <>
      <div class="outcome" role="status">
        <StateMark tone={VERDICTS[verdict]} size={28} />
        <div>
          <h2>{title}</h2>
          <p class="meta">{countResults(checks)}</p>
        </div>
        {code !== undefined && (
          <code>
            {status} {code}
          </code>
        )}
      </div>
      <ol class="explained">
        {checks.map((each, i) => (
          <li
            key={each.check}
            class={each.result === 'denied' ? 'fail' : undefined}
            data-check={each.check}
            data-result={each.result}
            data-code={each.code}
          >
            <span class="order">{i + 1}</span>
            <StateMark tone={MARKS[each.result]} size={14} />
            <strong>
              {each.title}
              <span class="visually-hidden">: {WORDS[each.result]}</span>
            </strong>
            <p>
              {each.detail}
              {each.code !== undefined && (
                <>
                  {' '}
                  <code>{each.code}</code>
                </>
              )}
              {each.check === 'revocation' && each.result === 'denied' && (
                <RevokedBy siteId={siteId} revocation={inspection.revocation} />
              )}
            </p>
          </li>
        ))}
      </ol>
    </>
  )
}

/** The entry that revoked, with its time, its reason and the way to its receipt. */
function RevokedBy({
  siteId,
  revocation,
}: SiteProps & { readonly revocation: Inspection['revocation'] }): JSX.Element {
  const { value, fault } = useLoad(`${siteId} ${JSON.stringify(revocation)}`, async (signal) => {
    const { findEntry } = await import('../inspector/find-entry.ts')
    return revocation === undefined ? null : ((await findEntry(siteId, revocation, signal)) ?? null)
  })
  if (value === undefined && fault === undefined) return <span aria-busy="true" />
  if (value === undefined || value === null)
    return (
      <>
        {' '}
        {say('The entry is not among the newest of its kind.')}{' '}
        <a href={sitePath(siteId, 'log')}>{say('Open the log')}</a>
      </>
    )
  const entry = (
    <a href={sitePath(siteId, 'receipts', String(value.seq))}>{say('Entry {seq}', { seq: value.seq })}</a>
  )
  const time = <time dateTime={value.at}>{formatMoment(value.at)}</time>
  return (
    <span class="revoked-by">
      {value.reason === null
        ? say('{entry} of {time}, without a reason', { entry, time })
        : say('{entry} of {time}: {reason}', { entry, time, reason: value.reason })}
    </span>
  )
}

function countResults(checks: readonly InspectedCheck[]): string {
  const words = (['passed', 'denied', 'skipped', 'not_checked'] as const)
    .map((result) => [checks.filter((each) => each.result === result).length, WORDS[result]] as const)
    .filter(([count]) => count > 0)
    .map(([count, word]) => `${count} ${word}`)
  return words.length === 0 ? '' : say('Checks: {words}', { words: sayList(words) })
}

function Chain({ inspection }: { readonly inspection: Inspection }): JSX.Element {
  return (
    <div class="pad">
      <h2>{say('Delegation chain')}</h2>
      <ol class="chain-nodes">
        {inspection.chain.map(({ id, scope, isRevoked }) => (
          <li key={id} class={isRevoked ? 'revoked' : undefined}>
            <code title={id}>{shorten(id)}</code>
            <span class="meta">{scope.join(', ')}</span>
            {isRevoked && <span class="meta">{say('revoked')}</span>}
          </li>
        ))}
      </ol>
    </div>
  )
}

function Claims({ inspection }: { readonly inspection: Inspection }): JSX.Element {
  return (
    <div class="pad">
      <h2>
        {inspection.areClaimsSigned ? say('Signed claims') : say('Claims, not covered by a valid signature')}
      </h2>
      <dl class={inspection.areClaimsSigned ? 'claims' : 'claims unsigned'}>
        {inspection.claims.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </div>
  )
}

/** The result without anything of what was pasted. */
function toText(siteId: string, { what, title, code, checks }: Inspection): string {
  return [
    say('{what} at {site}: {result}', {
      what,
      site: siteId,
      result: `${title}${code === undefined ? '' : ` (${code})`}`,
    }),
    ...checks.map(
      (each, i) =>
        `${i + 1}. ${each.title}: ${WORDS[each.result]}${each.code === undefined ? '' : ` (${each.code})`}`,
    ),
  ].join('\n')
}
