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

export function closeSheet(): void {
  setQuery({ act: undefined, on: undefined }, { replace: true })
}
