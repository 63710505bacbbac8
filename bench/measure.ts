/** Something to be timed. Whatever it needs is ready before it starts. */
export interface Subject {
  readonly name: string
  readonly note?: string
  /**
   * Does its work `times` times over, one after the other. Throws when the work comes to a wrong
   * result.
   */
  run(times: number): void | Promise<void>
}

export interface Measured {
  readonly name: string
  readonly note: string
  /** The median over the rounds, in microseconds for one time. */
  readonly us: number
  /** The median of its ratios to the unit just before and just after it. */
  readonly ratio: number
  /** How far apart the middle half of the ratios lies, as a part of their median. */
  readonly spread: number
  /**
   * What the quickest tenth of the rounds stays below: nearly what the work takes when nothing else
   * is going on.
   */
  readonly quietUs: number
  /** `quietUs` of this one to that of the unit. */
  readonly quietRatio: number
}

export interface MeasureOptions {
  readonly rounds?: number
  /**
   * How long one subject is timed in one round, about. Not much longer than what a scheduler
   * gives at a time: many slices stay whole.
   */
  readonly sliceMs?: number
  readonly warmUpMs?: number
  readonly onRound?: (done: number, all: number) => void
}

/**
 * Times subjects side by side: in every round each of them gets a slice, in an order of its own,
 * and between any two slices the unit runs for a moment. So whatever else the machine does meets
 * them all alike, and each is compared with the unit at the very same time.
 */
export async function measure(
  unit: Subject,
  subjects: readonly Subject[],
  options: MeasureOptions = {},
): Promise<Measured[]> {
  const { rounds = 201, sliceMs = 4, warmUpMs = 400, onRound } = options
  const timesIn = async (subject: Subject) =>
    Math.max(1, Math.round((sliceMs * 1000) / (await warmUp(subject, warmUpMs))))
  const unitTimes = await timesIn(unit)
  const entries: { subject: Subject; times: number; slices: Slice[] }[] = []
  for (const subject of subjects) entries.push({ subject, times: await timesIn(subject), slices: [] })

  const random = createRandom(1)
  let unitBeforeUs = await timeSlice(unit, unitTimes)
  for (let round = 0; round < rounds; round++) {
    onRound?.(round, rounds)
    for (const { subject, times, slices } of shuffled(entries, random)) {
      const us = await timeSlice(subject, times)
      const unitAfterUs = await timeSlice(unit, unitTimes)
      slices.push({ us, unitBeforeUs, unitAfterUs })
      unitBeforeUs = unitAfterUs
    }
  }
  onRound?.(rounds, rounds)
  const unitUs = entries.flatMap(({ slices }) => slices.map(({ unitAfterUs }) => unitAfterUs))
  return entries.map(({ subject: { name, note = '' }, slices }) => ({
    name,
    note,
    ...summary(slices, unitUs),
  }))
}

/** What one subject took in one round, and the unit on either side of it. */
export interface Slice {
  readonly us: number
  readonly unitBeforeUs: number
  readonly unitAfterUs: number
}

/** `unitUs`: every slice of the unit in the whole run. */
export function summary(
  slices: readonly Slice[],
  unitUs: readonly number[],
): Omit<Measured, 'name' | 'note'> {
  const us = slices.map((slice) => slice.us)
  // Two ratios each. Against the mean of both neighbours the unit would be interrupted twice as
  // often as the subject, and look slower.
  const ratios = slices.flatMap((slice) => [slice.us / slice.unitBeforeUs, slice.us / slice.unitAfterUs])
  const ratio = median(ratios)
  const quietUs = quantile(us, QUIET)
  return {
    us: median(us),
    ratio,
    spread: (quantile(ratios, 0.75) - quantile(ratios, 0.25)) / ratio,
    quietUs,
    quietRatio: quietUs / quantile(unitUs, QUIET),
  }
}

/** The part of the rounds that counts as quiet. */
export const QUIET = 0.1

export function median(values: readonly number[]): number {
  return quantile(values, 0.5)
}

/** Linear between the two neighbours; NaN of nothing. */
export function quantile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  const place = (sorted.length - 1) * part
  const below = sorted[Math.floor(place)] ?? Number.NaN
  const above = sorted[Math.ceil(place)] ?? Number.NaN
  return below + (above - below) * (place - Math.floor(place))
}

/**
 * Works until the time is over, in growing portions, so that the code is compiled; gives what one
 * time took in the last portion.
 */
async function warmUp(subject: Subject, warmUpMs: number): Promise<number> {
  const end = performance.now() + warmUpMs
  let us = 0
  for (let times = 1; ; times *= 2) {
    us = await timeOnce(subject, times)
    const leftMs = end - performance.now()
    if (leftMs <= (us * times) / 1000) return us
  }
}

/**
 * The first part of a slice is not timed: it brings code and data back into the caches that the
 * others have used in between.
 */
async function timeSlice(subject: Subject, times: number): Promise<number> {
  await subject.run(Math.ceil(times / 2))
  return timeOnce(subject, times)
}

async function timeOnce(subject: Subject, times: number): Promise<number> {
  const start = performance.now()
  const running = subject.run(times)
  if (running instanceof Promise) await running
  return ((performance.now() - start) * 1000) / times
}

/** Fisher–Yates, on a copy. */
export function shuffled<T>(values: readonly T[], random: () => number): T[] {
  const copy = [...values]
  for (let i = copy.length - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1))
    const other = copy[j] as T
    copy[j] = copy[i] as T
    copy[i] = other
  }
  return copy
}

/**
 * The same numbers in every run: the order of the slices shall not be one more thing that differs
 * between two runs.
 */
export function createRandom(seed: number): () => number {
  let state = seed | 0
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
