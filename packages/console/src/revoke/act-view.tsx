import type { JSX } from 'preact'
import { AsCommand } from '../components/as-command.tsx'
import { copyText } from '../components/copy.tsx'
import { Icon } from '../components/icon.tsx'
import { Pill, StateMark, type Tone } from '../components/state.tsx'
import { tick } from '../live.ts'
import { formatCount, say } from '../say.ts'
import { formatDuration } from '../time.ts'
import { ReceiptView } from './receipt-view.tsx'
import { CloseAct, Ends, Head, takeFocus, Who } from './sheet-parts.tsx'
import { type Act, ANSWER_MS_MAX, closeSheet, type Progress, retryAct } from './state.ts'
import { toCommand, toRequest, toWords } from './target.ts'

/** An act that was sent: waiting, unknown, rejected, or durable with its receipt. */
export function ActView({ act }: { readonly act: Act }): JSX.Element {
  const progress = act.progress.value
  switch (progress.at) {
    case 'sending':
    case 'unknown':
      return <Waiting act={act} progress={progress} />
    case 'failed':
      return <Failed act={act} progress={progress} />
    case 'done':
      return <ReceiptView act={act} {...progress} />
  }
}

interface WaitingProps {
  readonly act: Act
  readonly progress: Extract<Progress, { at: 'sending' | 'unknown' }>
}

function Waiting({ act, progress }: WaitingProps): JSX.Element {
  const { siteId, target, reason, outlook, id } = act
  const { at, tries, sentAtMs, done } = progress
  const words = toWords(target)
  const isUnknown = at === 'unknown'
  const elapsed = formatSeconds(Math.max(0, tick.value - sentAtMs))
  return (
    <div>
      <Head title={words.act} />
      <div class="body">
        <Who siteId={siteId} target={target}>
          {isUnknown ? (
            <Pill tone="soon">{say('Result unknown')}</Pill>
          ) : (
            <Pill tone="none">{say('Not confirmed yet')}</Pill>
          )}
        </Who>
        <Ends target={target} preview={outlook?.preview} isUpperBound={outlook?.isUpperBound ?? false} />
        <div class="field">
          <label for="revoke-given">{say('Reason')}</label>
          <input id="revoke-given" readOnly value={reason} />
        </div>
        {isUnknown && (
          <p class="notice amber" role="alert">
            <Icon name="info" />
            <span>
              <strong>{say('The result is unknown: the service has not answered.')}</strong>
              <br />
              {say(
                'The act may or may not be durable. This page is asking again with the same idempotency key, so that it takes effect once at most.',
              )}
            </span>
          </p>
        )}
        <section>
          <h3>{words.busy.replace('…', '')}</h3>
          <ol class="steps">
            <Step tone="good" title={say('Request sent')} time={formatSeconds(0)} />
            <Step
              tone={isUnknown ? 'soon' : 'none'}
              isNow
              title={
                tries > 1
                  ? say('Waiting for the durable answer, attempt {tries}', { tries })
                  : say('Waiting for the durable answer')
              }
              time={elapsed}
              about={
                isUnknown
                  ? say('Idempotency key {key}', { key: `${id.slice(0, 4)}…${id.slice(-2)}` })
                  : done > 0
                    ? say('{done} are revoked so far.', { done: formatCount(done) })
                    : say('Access counts as active until the service has committed the entry.')
              }
            />
            <Step tone="none" title={say('Verifiers apply the entry')} />
            <Step tone="none" title={say('Denied everywhere')} />
          </ol>
        </section>
        {!isUnknown && (
          <p class="notice">
            <Icon name="info" />
            <span>
              {say(
                'If no answer arrives within {seconds} s, this page shows the result as unknown and retries with the same idempotency key. The act cannot take effect twice.',
                { seconds: ANSWER_MS_MAX / 1000 },
              )}
            </span>
          </p>
        )}
      </div>
      <footer>
        <AsCommand curl={toRequest(siteId, target, reason)} cli={toCommand(siteId, target, reason)} />
        <span class="grow" />
        {isUnknown && (
          <button type="button" class="large" onClick={() => copyText(toDetails(act, tries))}>
            {say('Copy details')}
          </button>
        )}
        <CloseAct class="large">
          {isUnknown ? say('Close and keep retrying') : say('Close and keep waiting')}
        </CloseAct>
      </footer>
    </div>
  )
}

function toDetails({ id, siteId, target, reason }: Act, tries: number): string {
  return JSON.stringify({
    idempotency_key: id,
    site_id: siteId,
    tries,
    request: toRequest(siteId, target, reason),
  })
}

interface StepProps {
  readonly tone: Tone
  readonly title: string
  readonly time?: string
  readonly about?: string
  readonly isNow?: boolean
}

function Step({ tone, title, time, about, isNow = false }: StepProps): JSX.Element {
  return (
    <li class={isNow ? 'now' : ''} aria-current={isNow ? 'step' : undefined}>
      {isNow ? <span class="spinner" aria-hidden="true" /> : <StateMark tone={tone} size={18} />}
      <strong>{title}</strong>
      {time !== undefined && <span class="time">{time}</span>}
      {about !== undefined && <p>{about}</p>}
    </li>
  )
}

function formatSeconds(ms: number): string {
  return ms < 60_000 ? say('{seconds} s', { seconds: (ms / 1000).toFixed(1) }) : formatDuration(ms)
}

interface FailedProps {
  readonly act: Act
  readonly progress: Extract<Progress, { at: 'failed' }>
}

function Failed({ act, progress }: FailedProps): JSX.Element {
  const { siteId, target, reason } = act
  const words = toWords(target)
  return (
    <div>
      <Head title={words.act} />
      <div class="body">
        <Who siteId={siteId} target={target}>
          <Pill tone="none">{progress.done === 0 ? say('Nothing has changed') : say('Partly done')}</Pill>
        </Who>
        <p class="fault" role="alert">
          {progress.fault}
        </p>
        {progress.done > 0 && (
          <p>
            {say(
              '{done} of them are revoked and durable. The rest is as before. Trying again continues with the rest.',
              { done: formatCount(progress.done) },
            )}
          </p>
        )}
        <p class="meta">
          {say('Reason:')} <bdi>{reason}</bdi>
        </p>
      </div>
      <footer>
        <span class="grow" />
        <button type="button" class="large" onClick={closeSheet}>
          {say('Close')}
        </button>
        <button type="button" class="large primary" ref={takeFocus} onClick={() => retryAct(act)}>
          {say('Try again')}
        </button>
      </footer>
    </div>
  )
}
