import { useEffect, useRef } from 'preact/hooks'
import { sheet } from '../revoke/state.ts'

/** Runs when the revoke sheet was closed, so that the page shows what it has changed. */
export function useAfterRevoke(run: () => void): void {
  const isOpen = sheet.value.at !== 'closed'
  const wasOpen = useRef(isOpen)
  useEffect(() => {
    if (wasOpen.current && !isOpen) run()
    wasOpen.current = isOpen
  }, [isOpen])
}
