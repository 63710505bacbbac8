import { useEffect, useState } from 'preact/hooks'
import { send } from '../api/call.ts'
import { describe } from '../revoke/state.ts'

interface Loaded<Item> {
  /** Undefined until the first answer. */
  readonly items: readonly Item[] | undefined
  readonly fault: string | undefined
  reload(): Promise<void>
}

/** A short list about one's own account, or that of another person, which is one page. */
export function useOwnList<Item>(path: string, personId?: string): Loaded<Item> {
  const [items, setItems] = useState<readonly Item[]>()
  const [fault, setFault] = useState<string>()
  const reload = async () => {
    try {
      const answer = await send(path, { query: { limit: 200, person_id: personId } })
      setItems(((await answer.json()) as { items: readonly Item[] }).items)
      setFault(undefined)
    } catch (thrown) {
      setFault(describe(thrown))
    }
  }
  useEffect(() => void reload(), [path, personId])
  return { items, fault, reload }
}
