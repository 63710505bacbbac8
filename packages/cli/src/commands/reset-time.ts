import { UsageError } from '../command.ts'
import { operatorCommand } from './operator-command.ts'

const EFFECT =
  'what ended between the two times may be valid again until its end comes once more, and a key that was retired then is retired only from that moment on. Revocations stay. Revoke whatever must not be valid again.'

const toRfc3339 = (ms: number) => new Date(ms).toISOString()

export const resetTime = operatorCommand('reset-time', {
  words: [['[time]', 'the present; default: the clock of this machine']],
  options: [['--yes', 'set it; without it, nothing is changed']],
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
    'The store keeps the highest time that a node has acted by, so that what has expired stays expired. A node whose clock was wrong when it started may have put it far ahead: then all nodes are not ready, and /readyz and their logs say so. Correct the clocks first; a node that starts with a wrong clock moves the time again.',
    'Setting it back means that credentials, tokens and keys that ended between the two times may be valid again until their end comes once more. Revocations stay. It is written to the audit in the same transaction.',
    'Needs the master key. With the embedded store, stop the service first. Nodes on PostgreSQL may run: they adopt the new time within 5 seconds, and a node whose own clock is far from it is not ready until that clock is corrected.',
  ],
  async run({ given, at, service, store, storeSettings }) {
    const [text] = given.words
    const present = text === undefined ? undefined : service.requirePresent(text, Date.now())
    const difference = service.describeDifference
    if (!given.has('yes')) {
      const recordedMs = await service.readRecordedTime(store())
      const nowMs = present ?? Date.now()
      const [recorded, now] = [toRfc3339(recordedMs), toRfc3339(nowMs)]
      at.item(
        { changed: false, recorded, present: now },
        () => `The time on record is ${recorded}, ${difference(recordedMs - nowMs)} the present, ${now}.`,
      )
      throw new UsageError(
        [
          ...(recordedMs > nowMs ? [`Setting it back means: ${EFFECT}`] : []),
          'Nothing was changed. To set it to the present: countersign reset-time --yes',
        ].join('\n'),
      )
    }
    const settings = storeSettings()
    const nowMs = present ?? Date.now()
    const beforeMs = await service.resetTime(settings, nowMs)
    const [before, recorded] = [toRfc3339(beforeMs), toRfc3339(nowMs)]
    at.item(
      { changed: true, before, recorded },
      () =>
        `The time on record was ${before}, ${difference(beforeMs - nowMs)} the present, and is ${recorded} now.`,
    )
    if (beforeMs > nowMs) at.note(`It was set back: ${EFFECT}`)
    return 0
  },
})
