import { afterEach, describe, expect, it } from 'vitest'
import { type Clock, openClock } from '../../src/log/clock.ts'
import { StoreUnavailable } from '../../src/store/store.ts'
import { ClockDouble, quiet } from './log-double.ts'

class TimeStore {
  highestMs = 0
  isDown = false
  async confirmTime(atMs: number): Promise<number> {
    if (this.isDown) throw new StoreUnavailable('down')
    this.highestMs = Math.max(this.highestMs, atMs)
    return this.highestMs
  }
}

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
    await store.confirmTime(machine.wallMs)
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
})
