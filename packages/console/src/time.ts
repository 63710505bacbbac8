/** Times as people read them. Ages come from the log and the nodes, never from this clock alone. */

const clock = new Intl.DateTimeFormat('en-GB', {
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  timeZone: 'UTC',
})
const day = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' })

/** `14:03:41`, or with the day if it was not today. */
export function formatMoment(time: string, nowMs: number = Date.now()): string {
  const at = new Date(time)
  const isToday = at.toISOString().slice(0, 10) === new Date(nowMs).toISOString().slice(0, 10)
  return isToday ? clock.format(at) : `${day.format(at)} ${clock.format(at).slice(0, 5)}`
}

/** `14:03:41.212` */
export function formatExact(time: string): string {
  return new Date(time).toISOString().slice(11, 23)
}

/** `41 ms`, `1.2 s`, `3 min`, `2 h`, `5 days`. */
export function formatDuration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`
  if (ms < 3_600_000) return `${Math.round(ms / 60_000)} min`
  if (ms < 48 * 3_600_000) return `${Math.round(ms / 3_600_000)} h`
  return `${Math.round(ms / 86_400_000)} days`
}

/** `0.4 s`: an age that changes all the time, in one unit so that it is calm. Rounded up. */
export function formatAge(ms: number): string {
  return ms < 60_000 ? `${(Math.max(1, Math.ceil(ms / 100)) / 10).toFixed(1)} s` : formatDuration(ms)
}

/** `14:00–14:59`, or with the day if it was not today: for times that are known by the hour. */
export function formatHour(time: string): string {
  return formatMoment(time).replace(/(\d\d):\d\d(?::\d\d)?$/, '$1:00–$1:59')
}
