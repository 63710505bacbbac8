import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { everyMs } from '../src/every-ms.ts'

describe('a periodic job', () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  it('runs after each interval, also after a failure', async () => {
    const [faults, runs]: [unknown[], number[]] = [[], []]
    const job = everyMs(
      10,
      async () => {
        runs.push(Date.now())
        if (runs.length === 1) throw new Error('down')
      },
      (err) => faults.push(err),
    )
    await vi.advanceTimersByTimeAsync(9)
    expect(runs).toHaveLength(0)
    await vi.advanceTimersByTimeAsync(21)
    expect(runs).toHaveLength(3)
    expect(faults).toEqual([new Error('down')])
    await job.close()
    await vi.advanceTimersByTimeAsync(50)
    expect(runs).toHaveLength(3)
  })

  it('runs once at a time, and close waits for the run', async () => {
    let [runs, ended] = [0, 0]
    const job = everyMs(
      10,
      async () => {
        runs++
        await new Promise((resolve) => setTimeout(resolve, 25))
        ended++
      },
      () => undefined,
    )
    job.run()
    job.run()
    await vi.advanceTimersByTimeAsync(20)
    expect([runs, ended]).toEqual([1, 0])
    const closing = job.close()
    await vi.advanceTimersByTimeAsync(5)
    await closing
    job.run()
    expect([runs, ended]).toEqual([1, 1])
  })
})
