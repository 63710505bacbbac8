import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { notice, showNotice } from '../packages/console/src/components/notice.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

test('a notice of the console ends by itself', () => {
  showNotice('The look was changed.')
  vi.advanceTimersByTime(5900)
  expect(notice.value).toBe('The look was changed.')
  vi.advanceTimersByTime(200)
  expect(notice.value).toBe('')
})

test('a notice is not ended by the end of the one before', () => {
  showNotice('Copied', 2500)
  vi.advanceTimersByTime(2400)
  showNotice('Copied', 2500)
  vi.advanceTimersByTime(2400)
  expect(notice.value).toBe('Copied')
  vi.advanceTimersByTime(200)
  expect(notice.value).toBe('')
})
