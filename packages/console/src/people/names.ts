import type { PersonName } from '@countersign/core/contract'
import { signal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { send } from '../api/call.ts'
import { session } from '../api/session.ts'

/** Names of people by their id, as far as this person may see them. */
const names = signal<ReadonlyMap<string, string>>(new Map())
let isAsked = false
const PAGES_MAX = 5

async function loadNames(): Promise<void> {
  let cursor: string | undefined
  for (let page = 0; page < PAGES_MAX; page++) {
    const answer = await send('/console/people', { query: { limit: 200, cursor } })
    const found = (await answer.json()) as { items: readonly PersonName[]; next_cursor: string | null }
    names.value = new Map([
      ...names.value,
      ...found.items.map(({ person_id, name }) => [person_id, name] as const),
    ])
    if (found.next_cursor === null) return
    cursor = found.next_cursor
  }
}

/** The name of a person; undefined if it is not known here. */
export function usePersonName(personId: string | undefined): string | undefined {
  useEffect(() => {
    if (personId === undefined || isAsked) return
    isAsked = true
    loadNames().catch(() => {
      isAsked = false
    })
  }, [personId])
  if (personId === undefined) return undefined
  const known = names.value.get(personId)
  return known ?? (session.value?.person_id === personId ? session.value.name : undefined)
}
