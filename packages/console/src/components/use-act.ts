import { useRef, useState } from 'preact/hooks'
import { newIdempotencyKey } from '../api/call.ts'
import { describe, isUnknown } from '../revoke/state.ts'

interface OneAct {
  readonly isBusy: boolean
  readonly fault: string | undefined
  setFault(fault: string | undefined): void
  /** Runs the act, unless it is running: then a click has no effect. */
  run(act: (idempotencyKey: string) => Promise<void>): Promise<void>
}

/**
 * The act of a button. A try after an answer that never came has the same idempotency key, so that
 * the act happens once. After an answer, a click is another act.
 */
export function useAct(): OneAct {
  const key = useRef(newIdempotencyKey())
  // Not a state: a second click may come before the button is drawn again.
  const isRunning = useRef(false)
  const [isBusy, setIsBusy] = useState(false)
  const [fault, setFault] = useState<string>()
  return {
    isBusy,
    fault,
    setFault,
    async run(act) {
      if (isRunning.current) return
      isRunning.current = true
      setIsBusy(true)
      setFault(undefined)
      try {
        await act(key.current)
        key.current = newIdempotencyKey()
      } catch (thrown) {
        if (!isUnknown(thrown)) key.current = newIdempotencyKey()
        setFault(describe(thrown))
      }
      isRunning.current = false
      setIsBusy(false)
    },
  }
}
