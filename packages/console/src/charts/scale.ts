import { say } from '../say.ts'

/** A logarithmic scale for milliseconds, from `fromMs` to `toMs`, onto 0 to `width`. */
export function createLogScale(fromMs: number, toMs: number, width: number): (ms: number) => number {
  const start = Math.log(fromMs)
  const span = Math.log(toMs) - start
  return (ms) => round(Math.min(1, Math.max(0, (Math.log(Math.max(ms, fromMs)) - start) / span)) * width)
}

/** Powers of ten within a range, for an axis. */
export function listDecades(fromMs: number, toMs: number): readonly number[] {
  const decades: number[] = []
  for (let ms = 1; ms <= toMs; ms *= 10) if (ms >= fromMs) decades.push(ms)
  return decades
}

/** `10 ms`, `1 s`. */
export function formatDecade(ms: number): string {
  return ms < 1000 ? say('{ms} ms', { ms }) : say('{seconds} s', { seconds: ms / 1000 })
}

/** Coordinates need no more than tenths of a pixel. */
export function round(value: number): number {
  return Math.round(value * 10) / 10
}

/** Whether the screen is narrow, as the styles understand it. */
export function isPhone(): boolean {
  return innerWidth < 640
}
