import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { send } from '../api/call.ts'
import { isOperator, session } from '../api/session.ts'
import { describe } from '../revoke/state.ts'
import { say } from '../say.ts'
import { Fault } from './fault.tsx'

/** How a first verifier comes to a site. In development, a button starts one. */
export function NoVerifier(): JSX.Element {
  return session.value?.has_demo_verifiers === true && isOperator.value ? (
    <StartDemo />
  ) : (
    <p class="meta">
      {say('An application that uses the SDK appears here as soon as it connects: {link}.', {
        link: <a href="/docs/guides/protect-a-route">{say('how to protect a route')}</a>,
      })}
    </p>
  )
}

function StartDemo(): JSX.Element {
  const [isStarting, setStarting] = useState(false)
  const [fault, setFault] = useState<string | undefined>(undefined)
  const start = async () => {
    setStarting(true)
    setFault(undefined)
    try {
      await send('/console/demo-verifiers', { method: 'POST', timeoutMs: 30_000 })
    } catch (thrown) {
      setFault(describe(thrown))
    }
    setStarting(false)
  }
  return (
    <>
      <p class="meta spaced">
        {say(
          'A demo verifier is a small application on this machine with one protected route. It calls that route with the demo credential, so that there is something to revoke.',
        )}
      </p>
      <button type="button" class="primary" disabled={isStarting} onClick={() => void start()}>
        {isStarting ? say('Starting…') : say('Start a demo verifier')}
      </button>
      <Fault text={fault} />
    </>
  )
}
