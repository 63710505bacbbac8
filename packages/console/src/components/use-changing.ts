import { useState } from 'preact/hooks'
import { useLoad } from '../api/use-load.ts'
import { closeSheet } from '../sheet-place.ts'
import { useAfterRevoke } from './after-revoke.ts'
import { showNotice } from './notice.ts'

interface Changing<T> {
  readonly value: T | undefined
  readonly fault: string | undefined
  reload(): void
  /** Increases with every change. */
  readonly version: number
  /** After a change: closes its sheet, loads again and says what was done. */
  finish(words: string): void
}

/** Something that the sheets of its page change. It is loaded again after each change. */
export function useChanging<T>(key: string, load: (signal: AbortSignal) => Promise<T>): Changing<T> {
  const [version, setVersion] = useState(0)
  const { value, fault, reload } = useLoad(key, load, { again: version })
  useAfterRevoke(() => setVersion((last) => last + 1))
  return {
    value,
    fault,
    reload,
    version,
    finish(words) {
      closeSheet()
      setVersion((last) => last + 1)
      showNotice(words)
    },
  }
}
