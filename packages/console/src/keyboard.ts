import { mayRevoke } from './api/session.ts'
import { isPaused } from './live.ts'
import { openRevoke, step } from './revoke/state.ts'
import { place } from './router.ts'
import { paletteOpen } from './shell/palette.tsx'

/** Keys of every page. None of them changes anything by itself. */
export function listenToKeys(): void {
  document.addEventListener('keydown', (event) => {
    if (event.key.toLowerCase() === 'k' && (event.ctrlKey || event.metaKey)) {
      event.preventDefault()
      if (step.value.at === 'closed') paletteOpen.value = true
      return
    }
    const isTyping =
      event.target instanceof HTMLElement &&
      event.target.closest('input, textarea, select, [contenteditable]') !== null
    if (
      isTyping ||
      event.ctrlKey ||
      event.metaKey ||
      event.altKey ||
      document.querySelector('dialog[open]') !== null
    )
      return
    if (event.key === '/') {
      event.preventDefault()
      paletteOpen.value = true
    }
    if (event.key === 'p') isPaused.value = !isPaused.value
    if (event.key === 'r' && mayRevoke(place.value.siteId)) {
      event.preventDefault()
      openRevoke('')
    }
  })
}
