import type { ComponentChildren } from 'preact'
import { serviceNowMs } from '../live.ts'
import { say } from '../say.ts'
import { formatMoment } from '../time.ts'

/** A verifier of a receipt that has not applied its entry. */
interface Late {
  readonly verifier_id: string
  readonly state: string
  readonly rejects_from: string | null
}

/** Sentences about a verifier that is late: why, and from when on it rejects everything. */
export function describeLate(
  { verifier_id, state, rejects_from }: Late,
  failsOpen: boolean,
  rejectedSince: string | undefined = rejects_from ?? undefined,
): ComponentChildren {
  const name = { verifier: <strong>{verifier_id}</strong> }
  const isPast = rejects_from !== null && Date.parse(rejects_from) <= serviceNowMs()
  const time = rejects_from === null ? '' : formatMoment(rejects_from)
  if (state === 'waiting' || state === 'silent')
    return (
      <>
        {state === 'waiting'
          ? say('{verifier} has not answered yet.', name)
          : say('{verifier} is connected and does not answer.', name)}{' '}
        {failsOpen
          ? say('It fails open: without fresh data it may accept revoked access.')
          : rejects_from === null
            ? say('From when on it rejects everything is not known.')
            : isPast
              ? say('It has rejected everything since {time}.', { time })
              : say('Without an answer it rejects everything from {time} on.', { time })}
      </>
    )
  if (failsOpen)
    return say('{verifier} is not connected and fails open: it may accept what was revoked.', name)
  if (rejects_from === null)
    return (
      <>
        {say('{verifier} is not connected.', name)} {say('From when on it rejects everything is not known.')}
      </>
    )
  return isPast
    ? say('{verifier} is not connected and has rejected everything since {time}.', {
        ...name,
        time: formatMoment(rejectedSince ?? rejects_from),
      })
    : say('{verifier} is not connected and rejects everything from {time} on.', { ...name, time })
}
