import { describe, expect, it } from 'vitest'
import { createWake } from '../../src/log/wake.ts'

const FOR_EVER_MS = 1_000_000
const never = new AbortController().signal

describe('a wake-up', () => {
  it('wakes sleepers', async () => {
    const wake = createWake()
    const sleeping = [wake.sleep(wake.count, FOR_EVER_MS, never), wake.sleep(wake.count, FOR_EVER_MS, never)]
    wake.wake()
    await Promise.all(sleeping)
  })

  it('does not miss a call that came after the look', async () => {
    const wake = createWake()
    const { count } = wake
    wake.wake()
    await wake.sleep(count, FOR_EVER_MS, never)
  })

  it('does not rouse for calls that came before they looked', async () => {
    const wake = createWake()
    wake.wake()
    let isAwake = false
    const sleeping = wake.sleep(wake.count, FOR_EVER_MS, never).then(() => {
      isAwake = true
    })
    await new Promise(setImmediate)
    expect(isAwake).toBe(false)
    wake.wake()
    await sleeping
  })

  const isAsleep = async (sleeping: Promise<void>) => {
    const passed = new Promise((resolve) => setImmediate(resolve, 'passed'))
    return (await Promise.race([sleeping, passed])) === 'passed'
  }

  it('with a position wakes those who have not read that far', async () => {
    const wake = createWake()
    const behind = wake.sleep(wake.count, FOR_EVER_MS, never, 6)
    const ahead = wake.sleep(wake.count, FOR_EVER_MS, never, 7)
    wake.wake(7)
    await behind
    expect(await isAsleep(ahead)).toBe(true)
    wake.wake(8)
    await ahead
  })

  it('that came while a page was read counts when the page did not reach that far', async () => {
    const wake = createWake()
    const count = wake.beginRead()
    wake.wake(7)
    expect(await isAsleep(wake.sleep(count, FOR_EVER_MS, never, 7))).toBe(true)
    wake.wake(9)
    await wake.sleep(count, FOR_EVER_MS, never, 8)
  })

  it('that came while a page was read counts when a lower position came after it', async () => {
    const wake = createWake()
    const count = wake.beginRead()
    wake.wake(9)
    wake.wake(0)
    await wake.sleep(count, FOR_EVER_MS, never, 8)
    expect(await isAsleep(wake.sleep(count, FOR_EVER_MS, never, 9))).toBe(true)
  })

  it('counts until the next read begins, however often the reader sleeps', async () => {
    const wake = createWake()
    const count = wake.beginRead()
    wake.wake(7)
    await wake.sleep(count, FOR_EVER_MS, never, 5)
    await wake.sleep(count, FOR_EVER_MS, never, 6)
  })

  it('does not read again and again for a position of an earlier epoch', async () => {
    const wake = createWake()
    wake.wake(5000)
    const sleeping = wake.sleep(wake.beginRead(), FOR_EVER_MS, never, 3)
    expect(await isAsleep(sleeping)).toBe(true)
    wake.wake(4)
    await sleeping
  })

  it('ends by itself, and when the signal fires', async () => {
    const wake = createWake()
    await wake.sleep(wake.count, 1, never)
    const stop = new AbortController()
    const sleeping = wake.sleep(wake.count, FOR_EVER_MS, stop.signal)
    stop.abort()
    await sleeping
    await wake.sleep(wake.count, FOR_EVER_MS, stop.signal)
  })
})
