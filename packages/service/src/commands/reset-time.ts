import { parseTime } from '@countersign/core'
import { readStore, requireStore } from '../store/maintenance.ts'
import { type Command, Misuse } from './command.ts'
import { withStore } from './with-store.ts'

/**
 * Further than this from the clock of this machine, one of the two is wrong; and running nodes
 * would take the time for a leap.
 */
const APART_MS_MAX = 60_000

export const resetTime: Command = {
  summary: 'set the time on record to the present, after a clock was wrong',
  words: ['[time]'],
  switches: ['yes'],
  examples: [
    [
      'countersign reset-time',
      'shows the time on record beside the clock of this machine, and changes nothing',
    ],
    ['countersign reset-time --yes', 'sets it to the clock of this machine'],
    [
      'countersign reset-time 2027-03-01T12:00:00Z --yes',
      'to a time that you have read elsewhere, if this machine agrees within 60 seconds',
    ],
  ],
  about: [
    'The store keeps the highest time that a node has acted by, so that what has expired stays expired. A node whose clock was wrong when it started may have put it far ahead: then all nodes are not ready, and /readyz and their logs say so. Set the clocks right first; a node that starts with a wrong clock moves the time again.',
    'Setting it back means that credentials, tokens and keys that ended between the two times may count again until their end comes once more. Revocations stay. It is written to the audit in the same transaction.',
    'Needs the master key. With the embedded store, stop the service first. Nodes on PostgreSQL may run: they take the new time within 5 seconds, and one whose own clock is far from it is not ready until that is set right.',
  ],
  async run({ words: [text], switches, store, masterKey, say, note }) {
    const given = text === undefined ? undefined : readPresent(text, Date.now())
    const place = store()
    if (!switches.has('yes')) {
      const { atMs } = await readStore(place, ({ confirmedTime }) => confirmedTime())
      const nowMs = given ?? Date.now()
      say(`The time on record is ${rfc3339(atMs)}, ${apart(atMs - nowMs)} the present, ${rfc3339(nowMs)}.`, {
        changed: false,
        recorded: rfc3339(atMs),
        present: rfc3339(nowMs),
      })
      if (atMs > nowMs) note(`Setting it back means: ${WHAT_IT_MEANS}`)
      note('Nothing was changed. To set it to the present: countersign reset-time --yes')
      return 2
    }
    await requireStore(place)
    const nowMs = given ?? Date.now()
    const act = { actor: 'operator', atMs: nowMs, requestId: undefined }
    const { fromMs } = await withStore(place, masterKey(), (at) => at.store.resetTime(nowMs, act))
    say(
      `The time on record was ${rfc3339(fromMs)}, ${apart(fromMs - nowMs)} the present, and is ${rfc3339(nowMs)} now.`,
      {
        changed: true,
        before: rfc3339(fromMs),
        recorded: rfc3339(nowMs),
      },
    )
    if (fromMs > nowMs) note(`It was set back: ${WHAT_IT_MEANS}`)
    return 0
  },
}

const WHAT_IT_MEANS =
  'what ended between the two times may count again until its end comes once more, and a key that was retired then is retired only from that moment on. Revocations stay. Whatever must not count again has to be revoked.'

/** The time that an operator gives for the present. Throws a `Misuse` for anything else. */
function readPresent(text: string, clockMs: number): number {
  const ms = parseTime(text)
  if (ms === undefined) throw new Misuse(`${JSON.stringify(text)} is not a time such as ${rfc3339(clockMs)}`)
  if (Math.abs(ms - clockMs) <= APART_MS_MAX) return ms
  throw new Misuse(
    `${text} is ${apart(ms - clockMs)} the clock of this machine, ${rfc3339(clockMs)}. The time on record can only be set to the present: set this clock right, or give the right time.`,
  )
}

/** `3 days and 4 h ahead of` */
function apart(ms: number): string {
  const seconds = Math.round(Math.abs(ms) / 1000)
  if (seconds === 0) return 'equal to'
  const units: readonly (readonly [number, string])[] = [
    [86_400, 'd'],
    [3600, 'h'],
    [60, 'min'],
    [1, 's'],
  ]
  const [size, unit] = units.find(([each]) => seconds >= 2 * each) ?? ([1, 's'] as const)
  return `${Math.floor(seconds / size)} ${unit} ${ms > 0 ? 'ahead of' : 'behind'}`
}

const rfc3339 = (ms: number) => new Date(ms).toISOString()
