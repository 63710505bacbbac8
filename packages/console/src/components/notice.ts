import { computed, signal } from '@preact/signals'

const shown = signal('')
/** What the page has just done, for eyes and for screen readers. */
export const notice = computed(() => shown.value)

let ending: ReturnType<typeof setTimeout> | undefined

/** Shows a notice for a while, in place of the one before. */
export function showNotice(words: string, ms = 6000): void {
  shown.value = words
  clearTimeout(ending)
  ending = setTimeout(() => {
    shown.value = ''
  }, ms)
}
