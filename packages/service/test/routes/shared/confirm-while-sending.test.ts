import { afterEach, expect, test, vi } from 'vitest'
import { confirmWhileSending } from '../../../src/routes/shared/confirm-while-sending.ts'

let nowMs = 0
afterEach(() => vi.restoreAllMocks())

/** A piece every 300 ms, by a clock that a busy machine does not slow down. */
async function* slow() {
  for (let i = 0; i < 4; i++) {
    nowMs += 300
    yield Buffer.from(`${i}`)
  }
}
const read = async (confirm: () => Promise<void>) => {
  const own = new AbortController()
  const stream = confirmWhileSending(
    { kind: 'pieces', pieces: slow, signal: own.signal, release: () => {} },
    confirm,
  )
  let text = ''
  for await (const piece of stream.pieces('identity')) text += piece
  return { text, isCut: stream.signal?.aborted, own, stream }
}

test('a stream is cut when its caller is no longer valid, and is complete otherwise', async () => {
  vi.spyOn(performance, 'now').mockImplementation(() => nowMs)
  let asked = 0
  const whole = await read(async () => void asked++)
  expect([whole.text, whole.isCut, asked]).toEqual(['0123', false, 2])
  whole.own.abort()
  expect(whole.stream.signal?.aborted).toBe(true)
  const cut = await read(() => Promise.reject(new Error('ended')))
  expect([cut.text, cut.isCut]).toEqual(['0', true])
})
