import { afterEach, describe, expect, it } from 'vitest'
import { StoreUnavailable } from '../../src/store/errors.ts'
import type { ConfirmedTime } from '../../src/store/operations/time.ts'
import { type Clock, openClock } from '../../src/time/clock.ts'
import { countSleep } from '../../src/time/count-sleep.ts'
import { ClockDouble, quiet } from '../log/log-double.ts'

class TimeStore {
  highestMs = 0
  resets = 0
  isDown = false
  async confirmedTime(): Promise<ConfirmedTime> {
    if (this.isDown) throw new StoreUnavailable('down')
    return { atMs: this.highestMs, resets: this.resets }
  }
  async confirmTime(atMs: number, resets: number): Promise<ConfirmedTime> {
    if (!this.isDown && resets === this.resets) this.highestMs = Math.max(this.highestMs, atMs)
    return this.confirmedTime()
  }
  reset(atMs: number): void {
    this.highestMs = atMs
    this.resets++
  }
}

const DAY_MS = 86_400_000

const opened: (Clock & { close(): Promise<void> })[] = []
afterEach(async () => {
  for (const clock of opened.splice(0)) await clock.close()
})

async function open(store: TimeStore, { clocks }: ClockDouble) {
  const clock = await openClock(store, quiet, clocks, 5)
  opened.push(clock)
  return clock
}

describe('the clock of a node', () => {
  it('stops while a function runs, and goes on after it, also when it throws', async () => {
    const machine = new ClockDouble()
    const clock = await open(new TimeStore(), machine)
    const startMs = clock.nowMs()
    const passAndRead = () => {
      machine.pass(500)
      return clock.nowMs() - startMs
    }
    expect(clock.whileFrozen(passAndRead)).toBe(0)
    expect(clock.nowMs() - startMs).toBe(500)
    const throwing = () => clock.whileFrozen(() => Promise.reject(machine.pass(500)))
    await expect(throwing()).rejects.toBeUndefined()
    expect(() =>
      clock.whileFrozen(() => {
        throw new Error('work failed')
      }),
    ).toThrow('work failed')
    expect(passAndRead()).toBe(1500)
  })

  it('follows the clock of the machine', async () => {
    const machine = new ClockDouble()
    const clock = await open(new TimeStore(), machine)
    expect(clock.nowMs()).toBe(machine.wallMs)
    machine.pass(1234)
    expect(clock.nowMs()).toBe(machine.wallMs)
  })

  it('does not run back when the machine is set back (A080)', async () => {
    const machine = new ClockDouble()
    const clock = await open(new TimeStore(), machine)
    const before = clock.nowMs()
    machine.wallMs -= 3_600_000
    expect(clock.nowMs()).toBe(before)
  })

  it('does not run back over a restart: the store remembers (I-12)', async () => {
    const store = new TimeStore()
    const machine = new ClockDouble()
    const first = await open(store, machine)
    machine.pass(30_000)
    const before = first.nowMs()
    await expect.poll(() => store.highestMs).toBe(before)
    machine.wallMs -= 3_600_000
    machine.monotonicMs = 5
    expect((await open(store, machine)).nowMs()).toBe(before)
  })

  it('refuses when the machine leaps ahead, does not tell the store, and goes on when another node confirms the time', async () => {
    const store = new TimeStore()
    const machine = new ClockDouble()
    const clock = await open(store, machine)
    const before = store.highestMs
    machine.wallMs += 3_600_000
    expect(() => clock.nowMs()).toThrow(expect.objectContaining({ code: 'store_unavailable' }))
    await new Promise((resolve) => setTimeout(resolve, 30))
    expect(store.highestMs).toBe(before)
    await store.confirmTime(machine.wallMs, 0)
    await expect.poll(() => clock.nowMs()).toBe(machine.wallMs)
  })

  it('goes on while the store cannot be asked', async () => {
    const store = new TimeStore()
    const machine = new ClockDouble()
    const clock = await open(store, machine)
    store.isDown = true
    machine.pass(20_000)
    await new Promise((resolve) => setTimeout(resolve, 30))
    expect(clock.nowMs()).toBe(machine.wallMs)
  })

  it('does not open when the store cannot be asked', async () => {
    const store = new TimeStore()
    store.isDown = true
    await expect(openClock(store, quiet, new ClockDouble().clocks)).rejects.toThrow(StoreUnavailable)
  })

  it('has a problem when it has jumped, and says what can be done', async () => {
    const machine = new ClockDouble()
    const clock = await open(new TimeStore(), machine)
    expect(clock.problem()).toBeUndefined()
    machine.wallMs += 60_000
    expect(clock.problem()).toBeUndefined()
    machine.wallMs += 1
    expect(clock.problem()).toMatch(/has jumped 60 s ahead.*countersign reset-time/)
  })

  it('has a problem when the time on record is far ahead, and nothing expired becomes valid again', async () => {
    const store = new TimeStore()
    const machine = new ClockDouble()
    const clock = await open(store, machine)
    store.highestMs = machine.wallMs + 60_000
    await expect.poll(() => clock.nowMs()).toBe(machine.wallMs + 60_000)
    expect(clock.problem()).toBeUndefined()
    store.highestMs++
    await expect
      .poll(() => clock.problem())
      .toMatch(/is 60 s behind the time on record.*countersign reset-time/)
    expect(clock.nowMs()).toBe(store.highestMs)
  })

  it('takes a reset in while it runs, back or ahead', async () => {
    const store = new TimeStore()
    const machine = new ClockDouble()
    const clock = await open(store, machine)
    store.highestMs = machine.wallMs + 10 * DAY_MS
    await expect.poll(() => clock.problem()).toBeDefined()
    store.reset(machine.wallMs)
    await expect.poll(() => clock.problem()).toBeUndefined()
    expect(clock.nowMs()).toBe(machine.wallMs)
    expect(store.highestMs).toBe(machine.wallMs)

    machine.wallMs += DAY_MS
    expect(clock.problem()).toBeDefined()
    store.reset(machine.wallMs)
    await expect.poll(() => clock.problem()).toBeUndefined()
    machine.pass(1000)
    await expect.poll(() => store.highestMs).toBe(machine.wallMs)
  })

  it('does not move the time again when its own clock was the wrong one', async () => {
    const store = new TimeStore()
    const machine = new ClockDouble()
    const rightMs = machine.wallMs
    machine.wallMs += 10 * DAY_MS
    const clock = await open(store, machine)
    expect(store.highestMs).toBe(machine.wallMs)
    store.reset(rightMs)
    await expect.poll(() => clock.problem()).toMatch(/has jumped 864000 s ahead/)
    expect(() => clock.nowMs()).toThrow(expect.objectContaining({ code: 'store_unavailable' }))
    await new Promise((resolve) => setTimeout(resolve, 30))
    expect(store.highestMs).toBe(rightMs)
    machine.wallMs = rightMs
    expect(clock.problem()).toBeUndefined()
  })

  it('keeps its time when the store has forgotten a reset, as a restored one has', async () => {
    const store = new TimeStore()
    store.resets = 3
    const machine = new ClockDouble()
    const clock = await open(store, machine)
    const before = clock.nowMs()
    store.resets = 2
    store.highestMs = before - DAY_MS
    machine.wallMs -= 1000
    await expect.poll(() => store.highestMs).toBe(before)
    expect(clock.nowMs()).toBe(before)
  })
})

describe('clocks that count sleep', () => {
  const HOUR_MS = 3_600_000
  const sleep = (machine: ClockDouble, ms: number) => {
    machine.wallMs += ms
  }

  it('go on after a machine has slept, again and again', async () => {
    const machine = new ClockDouble()
    const clocks = countSleep(machine.clocks)
    const clock = await openClock(new TimeStore(), quiet, clocks, 5)
    opened.push(clock)
    const before = clocks()
    for (let times = 1; times <= 3; times++) {
      sleep(machine, HOUR_MS)
      expect(clock.nowMs()).toBe(machine.wallMs)
      machine.pass(1000)
      expect(clock.nowMs()).toBe(machine.wallMs)
      expect(clock.problem()).toBeUndefined()
      expect(clocks().monotonicMs - before.monotonicMs).toBe(times * (HOUR_MS + 1000))
    }
  })

  it('control: without them a clock is unreliable after an hour of sleep', async () => {
    const machine = new ClockDouble()
    const clock = await open(new TimeStore(), machine)
    sleep(machine, HOUR_MS)
    expect(() => clock.nowMs()).toThrow('unreliable')
  })

  it('never run back, and ignore a wall clock that is corrected or set back', () => {
    const machine = new ClockDouble()
    const clocks = countSleep(machine.clocks)
    const startMs = clocks().monotonicMs
    for (const changeMs of [500, -500, -HOUR_MS, 999]) {
      machine.wallMs += changeMs
      expect(clocks().monotonicMs).toBe(startMs)
    }
    machine.pass(10)
    expect(clocks().monotonicMs).toBe(startMs + 10)
  })
})
