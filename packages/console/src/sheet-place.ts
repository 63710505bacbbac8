import { computed } from '@preact/signals'
import { place, setQuery } from './router.ts'

/** Which act the page shows in a sheet and what it is about, as the address says. */
export const sheet = computed(() => ({
  act: place.value.query.get('act') ?? undefined,
  on: place.value.query.get('on') ?? undefined,
}))

export function openSheet(act: string, on?: string): void {
  setQuery({ act, on })
}

let isKept = false

export function closeSheet(): void {
  if (!isKept) setQuery({ act: undefined, on: undefined }, { replace: true })
}

/** For the answer to a sheet that was left: it must not close one that was opened since. */
export function keepSheet(work: () => void): void {
  isKept = true
  try {
    work()
  } finally {
    isKept = false
  }
}
