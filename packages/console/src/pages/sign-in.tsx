import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { doors, loadDoors } from '../api/doors.ts'
import type { LinkQuestion as LinkQuestionProps } from '../api/session.ts'
import { Fault } from '../components/fault.tsx'
import { Icon, Seal } from '../components/icon.tsx'
import { hasPasskeys, signInWithPasskey } from '../people/passkey.ts'
import { refreshSession, signInWithLink } from '../people/sign-in.ts'
import { LinkForm } from '../people/step-up.tsx'
import { say } from '../say.ts'

export function SignIn({ fault: first }: { readonly fault: string | undefined }): JSX.Element {
  const [fault, setFault] = useState(first)
  const [isBusy, setBusy] = useState(false)
  useEffect(loadDoors, [])
  const run = async (act: () => Promise<void>) => {
    setBusy(true)
    setFault(undefined)
    try {
      await act()
      if (!(await refreshSession())) setFault(say('The service cannot be reached. Try again.'))
    } catch (thrown) {
      setFault(thrown instanceof Error ? thrown.message : say('Something went wrong. Try again.'))
    }
    setBusy(false)
  }
  const oidc = doors.value?.oidc ?? undefined
  const start = `/console/oidc/start?${new URLSearchParams({ return: location.pathname + location.search })}`
  return (
    <main class="door">
      <div class="card">
        <Seal isProven size={48} />
        <h1>{say('Sign in to the console')}</h1>
        <Fault text={fault} />
        {doors.value?.passkey === true && hasPasskeys() && (
          <button
            type="button"
            class="primary full-width"
            disabled={isBusy}
            onClick={() => void run(signInWithPasskey)}
          >
            <Icon name="passkey" />
            {say('Sign in with a passkey')}
          </button>
        )}
        {oidc !== undefined && (
          <a class="button full-width" href={start} target="_self">
            {say('Continue with {name}', { name: oidc.name })}
          </a>
        )}
        <LinkForm isBusy={isBusy} onLink={(link) => void run(() => signInWithLink(link))} />
      </div>
    </main>
  )
}

/** Asks before a link replaces the session of this browser. */
export function LinkQuestion({ name, answer }: LinkQuestionProps): JSX.Element {
  return (
    <main class="door">
      <div class="card">
        <Seal isProven size={48} />
        <h1>{say('Use this sign-in link?')}</h1>
        <p>
          {say(
            'You are signed in as {name}. The link ends that session and signs this browser in again, perhaps as another person. Use it only if you asked for it.',
            { name: <strong>{name}</strong> },
          )}
        </p>
        <button type="button" class="primary full-width" autofocus onClick={() => answer(false)}>
          <span>{say('Stay signed in as {name}', { name })}</span>
        </button>
        <button type="button" class="full-width" onClick={() => answer(true)}>
          {say('Use the link and sign in again')}
        </button>
      </div>
    </main>
  )
}
