import type { Passkey } from '@countersign/core/contract'
import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { send } from '../api/call.ts'
import { doors, loadDoors } from '../api/doors.ts'
import { Sheet } from '../components/act-sheet.tsx'
import { Fault } from '../components/fault.tsx'
import { Icon } from '../components/icon.tsx'
import { Menu } from '../components/menu.tsx'
import { showNotice } from '../components/notice.ts'
import { describe } from '../revoke/state.ts'
import { say } from '../say.ts'
import { formatMoment } from '../time.ts'
import { useOwnList } from './load-list.ts'
import { createPasskey, hasPasskeys } from './passkey.ts'
import { withStepUp } from './step-up.tsx'

/** As in the contract. */
const PASSKEYS_MAX = 10
const NAME_CHARS_MAX = 64

type Shown = { readonly act: 'add' } | { readonly act: 'rename' | 'remove'; readonly passkey: Passkey }

/** The passkeys of the person who is signed in. */
export function Passkeys(): JSX.Element {
  const { items, fault, reload } = useOwnList<Passkey>('/console/passkeys')
  const [shown, setShown] = useState<Shown>()
  useEffect(loadDoors, [])
  const finish = (words: string) => {
    setShown(undefined)
    showNotice(words)
    void reload()
  }
  const close = () => setShown(undefined)
  const isPossible = doors.value?.passkey === true && hasPasskeys()
  const isFull = (items?.length ?? 0) >= PASSKEYS_MAX
  return (
    <section class="card" aria-labelledby="passkeys">
      <header class="card-head">
        <div>
          <h2 id="passkeys">{say('Passkeys')}</h2>
          <p class="meta">
            {say(
              'Sign in without a link, and confirm acts that need it, with your fingerprint, face or PIN.',
            )}
          </p>
        </div>
        {isPossible && !isFull && (
          <button type="button" onClick={() => setShown({ act: 'add' })}>
            <Icon name="passkey" />
            {say('Add a passkey')}
          </button>
        )}
      </header>
      <Fault text={fault} onRetry={() => void reload()} />
      {doors.value?.passkey === false && <NeedsName />}
      {items?.length === 0 && doors.value?.passkey === true && (
        <p class="meta">{say('You have no passkey yet.')}</p>
      )}
      {items !== undefined && items.length > 0 && (
        <ul class="own-list">
          {items.map((passkey) => (
            <li key={passkey.passkey_id}>
              <span class="two-lines">
                <strong>{passkey.name}</strong>
                <span class="meta">
                  {passkey.last_used_at === null
                    ? say('Added {time}, not used yet', { time: formatMoment(passkey.created_at) })
                    : say('Added {time}, last used {used}', {
                        time: formatMoment(passkey.created_at),
                        used: formatMoment(passkey.last_used_at),
                      })}
                </span>
              </span>
              <Menu
                class="quiet icon-button"
                name={say('Actions for {name}', { name: passkey.name })}
                label="⋯"
                items={[
                  { title: say('Rename'), run: () => setShown({ act: 'rename', passkey }) },
                  { title: say('Remove'), isDanger: true, run: () => setShown({ act: 'remove', passkey }) },
                ]}
              />
            </li>
          ))}
        </ul>
      )}
      {shown?.act === 'add' && (
        <NameSheet
          title={say('Add a passkey')}
          verb={say('Add the passkey')}
          about={say(
            'Your browser asks where to keep it: on this device, on your phone or on a security key.',
          )}
          first={guessName()}
          onSubmit={(name) => withStepUp(() => createPasskey(name))}
          onDone={() => finish(say('The passkey was added.'))}
          onClose={close}
        />
      )}
      {shown?.act === 'rename' && (
        <NameSheet
          title={say('Rename a passkey')}
          verb={say('Rename')}
          about={say('Only you and operators see the name.')}
          first={shown.passkey.name}
          onSubmit={(name) =>
            send(`/console/passkeys/${shown.passkey.passkey_id}`, { method: 'PATCH', body: { name } })
          }
          onDone={() => finish(say('The passkey was renamed.'))}
          onClose={close}
        />
      )}
      {shown?.act === 'remove' && (
        <RemoveSheet
          passkey={shown.passkey}
          onDone={() => finish(say('The passkey was removed.'))}
          onClose={close}
        />
      )}
    </section>
  )
}

/** Browsers bind passkeys to the name of a host. */
function NeedsName(): JSX.Element {
  const isLoopback = /^(127\.|\[::1\])/.test(location.hostname)
  const here = `http://localhost:${location.port}/console/settings`
  return (
    <p class="banner">
      <span>
        {say('Browsers bind passkeys to a host name.')}{' '}
        {isLoopback
          ? say('Open the console at {here} to add one. Sign in there with a new link.', {
              here: (
                <a href={here} target="_blank" rel="noreferrer">
                  {here}
                </a>
              ),
            })
          : say('Open the console with its host name to add one.')}
      </span>
    </p>
  )
}

interface NameSheetProps {
  readonly title: string
  readonly verb: string
  readonly about: string
  readonly first: string
  readonly onSubmit: (name: string) => Promise<unknown>
  readonly onDone: () => void
  readonly onClose: () => void
}

function NameSheet({ title, verb, about, first, onSubmit, onDone, onClose }: NameSheetProps): JSX.Element {
  const [name, setName] = useState(first)
  const [fault, setFault] = useState<string>()
  const [isBusy, setBusy] = useState(false)
  const submit = async () => {
    setBusy(true)
    setFault(undefined)
    try {
      await onSubmit(name.trim())
      onDone()
    } catch (thrown) {
      setFault(describe(thrown))
      setBusy(false)
    }
  }
  return (
    <Sheet title={title} onClose={onClose}>
      <form
        class="act"
        onSubmit={(event) => {
          event.preventDefault()
          void submit()
        }}
      >
        <div class="body">
          <label>
            {say('Name')}
            <input
              data-first=""
              required
              maxLength={NAME_CHARS_MAX}
              value={name}
              readOnly={isBusy}
              onInput={(event) => setName(event.currentTarget.value)}
            />
            <span class="hint">{about}</span>
          </label>
          <Fault text={fault} />
        </div>
        <footer>
          <span class="grow" />
          <button type="button" onClick={onClose}>
            {say('Cancel')}
          </button>
          <button type="submit" class="primary" disabled={isBusy || name.trim() === ''}>
            {verb}
          </button>
        </footer>
      </form>
    </Sheet>
  )
}

interface RemoveSheetProps {
  readonly passkey: Passkey
  readonly onDone: () => void
  readonly onClose: () => void
}

function RemoveSheet({ passkey, onDone, onClose }: RemoveSheetProps): JSX.Element {
  const [fault, setFault] = useState<string>()
  const [isBusy, setBusy] = useState(false)
  const remove = async () => {
    setBusy(true)
    try {
      await withStepUp(() => send(`/console/passkeys/${passkey.passkey_id}`, { method: 'DELETE' }))
      onDone()
    } catch (thrown) {
      setFault(describe(thrown))
      setBusy(false)
    }
  }
  return (
    <Sheet title={say('Remove a passkey')} onClose={onClose}>
      <div class="body">
        <p class="lead">
          <strong>{passkey.name}</strong>
        </p>
        <p>
          {say(
            'It can no longer sign you in. Sessions that were opened with it end, also this one if you signed in with it. Delete it on the device too, so that the device does not offer it any more.',
          )}
        </p>
        <Fault text={fault} />
      </div>
      <footer>
        <span class="grow" />
        <button type="button" data-first="" onClick={onClose}>
          {say('Cancel')}
        </button>
        <button type="button" class="danger-fill" disabled={isBusy} onClick={() => void remove()}>
          {say('Remove the passkey')}
        </button>
      </footer>
    </Sheet>
  )
}

/** A name to begin with. The person can change it. */
function guessName(): string {
  const known = [
    [/iPhone/, 'iPhone'],
    [/iPad/, 'iPad'],
    [/Android/, say('Android phone')],
    [/Mac OS/, say('Mac')],
    [/Windows/, say('Windows computer')],
    [/Linux/, say('Linux computer')],
  ] as const
  return known.find(([pattern]) => pattern.test(navigator.userAgent))?.[1] ?? say('This device')
}
