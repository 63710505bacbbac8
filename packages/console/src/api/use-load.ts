import { useEffect, useRef, useState } from 'preact/hooks'
import { isPaused } from '../live.ts'
import { describe } from '../revoke/state.ts'

interface Load<T> {
  /** Undefined until the first answer. Kept while it is loaded again. */
  readonly value: T | undefined
  readonly fault: string | undefined
  reload(): void
}

interface LoadOptions {
  /** A new value loads again and keeps what is shown. */
  readonly again?: unknown
  /** Loads again after this time, unless the page is paused or hidden. */
  readonly everyMs?: number | undefined
}

/** Loads something for a page. A new key forgets what was shown before. */
export function useLoad<T>(
  key: string,
  load: (signal: AbortSignal) => Promise<T>,
  { again, everyMs }: LoadOptions = {},
): Load<T> {
  const [state, setState] = useState<{ key: string; value?: T; fault?: string }>({ key })
  const [count, setCount] = useState(0)
  const latest = useRef(load)
  latest.current = load
  useEffect(() => {
    const stop = new AbortController()
    latest.current(stop.signal).then(
      (value) => {
        if (!stop.signal.aborted) setState({ key, value })
      },
      (thrown: unknown) => {
        if (stop.signal.aborted) return
        setState((last) => ({ ...(last.key === key ? last : {}), key, fault: describe(thrown) }))
      },
    )
    return () => stop.abort()
  }, [key, again, count])
  useEffect(() => {
    if (everyMs === undefined) return
    const timer = setInterval(() => {
      if (!isPaused.value && document.visibilityState !== 'hidden') setCount((n) => n + 1)
    }, everyMs)
    return () => clearInterval(timer)
  }, [everyMs])
  const isCurrent = state.key === key
  return {
    value: isCurrent ? state.value : undefined,
    fault: isCurrent ? state.fault : undefined,
    reload: () => setCount((n) => n + 1),
  }
}
