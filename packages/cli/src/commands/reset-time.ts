import { operatorCommand } from './operator-command.ts'

const EFFECT =
  'credentials and tokens that expired between the two times may be valid again until they expire again, and a key that was retired between them is retired from that time on. Revocations stay in force. Revoke whatever must not be valid again.'

const toRfc3339 = (ms: number) => new Date(ms).toISOString()

/** A store that no node has used has 0 on record. */
const toRecorded = (ms: number) => (ms === 0 ? null : toRfc3339(ms))

export const resetTime = operatorCommand('reset-time', {
  words: [['[time]', 'the current time; default: the clock of this machine']],
  options: [['--yes', 'set the time; without this flag, nothing is changed']],
  examples: [
    ['countersign reset-time', 'compare the time on record with the clock of this machine; change nothing'],
    ['countersign reset-time --yes', 'set it to the clock of this machine'],
    [
      'countersign reset-time 2027-03-01T12:00:00Z --yes',
      'set it to a time from another clock, if this machine agrees within 60 seconds',
    ],
  ],
  about: [
    'The store records the latest time that a node has used, so that what has expired stays expired. A node that started with a wrong clock may have set it far ahead: then no node is ready, and /readyz and the logs say so. Correct the clocks first, because a node that starts with a wrong clock moves the time again.',
    'After the time is set back, credentials, tokens and keys that ended between the two times may be valid again until they end again. Revocations stay in force. The audit records it in the same transaction.',
    'Needs the master key. With the embedded store, stop the service first. Nodes on PostgreSQL may run: they adopt the new time within 5 seconds, and a node whose own clock is far from it is not ready until that clock is corrected.',
  ],
  async run({ given, at, service, store, storeSettings }) {
    const [text] = given.words
    const present = text === undefined ? undefined : service.requirePresent(text, Date.now())
    const difference = service.describeDifference
    if (!given.has('yes')) {
      const recordedMs = await service.readRecordedTime(store())
      const nowMs = present ?? Date.now()
      const [recorded, now] = [toRecorded(recordedMs), toRfc3339(nowMs)]
      at.item({ changed: false, recorded, present: now }, () =>
        recorded === null
          ? 'No time is on record yet, because no node has used this store.'
          : `The time on record is ${recorded}, ${difference(recordedMs - nowMs)} the present, ${now}.`,
      )
      if (recordedMs > nowMs) at.note(`Setting it back means: ${EFFECT}`)
      at.note('Nothing was changed. To set it to the present: countersign reset-time --yes')
      return 0
    }
    const settings = storeSettings()
    const nowMs = present ?? Date.now()
    const beforeMs = await service.resetTime(settings, nowMs)
    const [before, recorded] = [toRecorded(beforeMs), toRfc3339(nowMs)]
    at.item({ changed: true, before, recorded }, () =>
      before === null
        ? `No time was on record. It is ${recorded} now.`
        : `The time on record was ${before}, ${difference(beforeMs - nowMs)} the present, and is ${recorded} now.`,
    )
    if (beforeMs > nowMs) at.note(`It was set back: ${EFFECT}`)
    return 0
  },
})
