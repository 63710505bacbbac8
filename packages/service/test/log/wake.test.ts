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
