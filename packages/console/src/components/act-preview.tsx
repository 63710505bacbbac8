import type { Preview, PreviewAct } from '@countersign/core/contract'
import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { callPatiently } from '../api/call.ts'
import { describe } from '../revoke/state.ts'
import { formatCount, say, sayCount } from '../say.ts'
import { Fault } from './fault.tsx'
import { Icon } from './icon.tsx'

interface ActPreviewProps {
  readonly siteId: string
  readonly act: PreviewAct
  readonly onPreview: (preview: Preview | 'failed' | undefined) => void
}

/** What an act would end, in numbers: grey blocks of the same size until they are known. */
export function ActPreview({ siteId, act, onPreview }: ActPreviewProps): JSX.Element {
  const [preview, setPreview] = useState<Preview>()
  const [fault, setFault] = useState<string>()
  const key = JSON.stringify(act)
  useEffect(() => {
    const stop = new AbortController()
    onPreview(undefined)
    const path = `/api/sites/${siteId}/preview`
    callPatiently<Preview>(path, { method: 'POST', site: siteId, body: { act }, signal: stop.signal }).then(
      (found) => {
        setPreview(found)
        setFault(undefined)
        onPreview(found)
      },
      (thrown) => {
        if (stop.signal.aborted) return
        setFault(describe(thrown))
        onPreview('failed')
      },
    )
    return () => stop.abort()
  }, [siteId, key])
  const figures: readonly (readonly [value: string | undefined, word: string])[] = [
    [toCount(preview?.users), say('users')],
    [toCount(preview?.credentials), say('credentials')],
    [preview && String(preview.delegated_credentials), say('delegated')],
    [toCount(preview?.tokens), say('live tokens')],
  ]
  return (
    <section aria-label={say('What this ends')} aria-busy={preview === undefined && fault === undefined}>
      <h3 class="over">{say('This ends')}</h3>
      <dl class="figures">
        {figures.map(([value, word]) => (
          <div key={word}>
            <dd>{value ?? <span class="block" />}</dd>
            <dt>{word}</dt>
          </div>
        ))}
      </dl>
      <Fault text={fault} />
      {preview !== undefined && <Notes preview={preview} />}
    </section>
  )
}

function Notes({ preview }: { readonly preview: Preview }): JSX.Element {
  const { irreversible, webhooks, lagging_verifiers: lagging, offers, sign_ins } = preview
  return (
    <ul class="notes">
      <li>
        <Icon name="audit" />
        <span>
          <strong>{irreversible ? say('Permanent.') : say('Can be undone later.')}</strong>{' '}
          {say('The numbers count what this service has seen. Credentials that it has not seen end too.')}
        </span>
      </li>
      {offers + sign_ins > 0 && (
        <li>
          <Icon name="credentials" />
          <span>
            {say('{offers} and {signIns} in progress are cancelled.', {
              offers: sayCount(offers, '{count} offer', '{count} offers'),
              signIns: sayCount(sign_ins, '{count} sign-in', '{count} sign-ins'),
            })}
          </span>
        </li>
      )}
      <li>
        <Icon name="verifiers" />
        <span>
          {sayCount(
            webhooks.length,
            '{count} webhook will be notified.',
            '{count} webhooks will be notified.',
          )}
          {lagging.length > 0 && (
            <>
              {' '}
              {sayCount(lagging.length, '{names} is behind now.', '{names} are behind now.', {
                names: <strong>{lagging.join(', ')}</strong>,
              })}
            </>
          )}
        </span>
      </li>
    </ul>
  )
}

function toCount(bounded: Preview['users'] | undefined): string | undefined {
  if (bounded === undefined) return undefined
  return bounded.complete ? formatCount(bounded.count) : `${formatCount(bounded.count)}+`
}
