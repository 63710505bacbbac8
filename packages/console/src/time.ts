import { dateLocale, say, sayCount } from './say.ts'

/**
 * Times as people read them: in UTC, as in the log, and exact ones in the zone of this browser too.
 * Ages come from the log and the nodes, never from this clock alone.
 */

/** Whether this browser has another time than UTC. */
const hasLocalTime = new Intl.DateTimeFormat().resolvedOptions().timeZone !== 'UTC'

const CLOCK = { hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' } as const

function createUtc(options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  return new Intl.DateTimeFormat(dateLocale, { ...options, timeZone: 'UTC' })
}

const clock = createUtc(CLOCK)
const day = createUtc({ day: 'numeric', month: 'short' })
const longDay = createUtc({ day: 'numeric', month: 'long' })
const date = createUtc({ dateStyle: 'short' })
const localClock = new Intl.DateTimeFormat(dateLocale, CLOCK)

/** `14:03:41`, or with the day if it was not today. */
export function formatMoment(time: string, nowMs: number = Date.now()): string {
  const shown = formatClock(time)
  return isSameDay(time, nowMs) ? shown : `${day.format(new Date(time))} ${shown.slice(0, 5)}`
}

/** `14:03:41` */
export function formatClock(time: string): string {
  return clock.format(new Date(time))
}

/** `16 November` */
export function formatDay(time: string): string {
  return longDay.format(new Date(time))
}

export function isSameDay(time: string, nowMs: number): boolean {
  return date.format(new Date(time)) === date.format(nowMs)
}

/** `14:03:41.212 UTC`, with the time of this browser if that is another. */
export function formatExact(time: string): string {
  return `${formatUtc(time)} ${toZones(time)}`
}

/** `14:03:41.212` */
export function formatUtc(time: string): string {
  return new Date(time).toISOString().slice(11, 23)
}

/** What follows a time in UTC: its zone, and the same time in the zone of this browser. */
export function toZones(time: string): string {
  return hasLocalTime ? say('UTC, {time} local time', { time: localClock.format(new Date(time)) }) : 'UTC'
}

/** `41 ms`, `1.2 s`, `3 min`, `2 h`, `5 days`. */
export function formatDuration(ms: number): string {
  if (ms < 1000) return say('{ms} ms', { ms: Math.round(ms) })
  if (ms < 60_000) return say('{seconds} s', { seconds: (ms / 1000).toFixed(1) })
  if (ms < 3_600_000) return say('{minutes} min', { minutes: Math.round(ms / 60_000) })
  if (ms < 48 * 3_600_000) return say('{hours} h', { hours: Math.round(ms / 3_600_000) })
  return sayCount(Math.round(ms / 86_400_000), '{count} day', '{count} days')
}

/** `0.4 s`: an age that changes all the time, in one unit so that it is calm. Rounded up. */
export function formatAge(ms: number): string {
  return ms < 60_000
    ? say('{seconds} s', { seconds: (Math.max(1, Math.ceil(ms / 100)) / 10).toFixed(1) })
    : formatDuration(ms)
}

/** `14:00–14:59`, or with the day if it was not today: for times that are known by the hour. */
export function formatHour(time: string): string {
  return formatMoment(time).replace(/(\d\d):(\d\d)(?::\d\d)?$/, (_, hour, minute) =>
    minute === '00' ? `${hour}:00–${hour}:59` : `${hour}:${minute}`,
  )
}
