import type { JSX } from 'preact'
import { usePersonName } from '../people/names.ts'
import { say } from '../say.ts'
import { shorten } from './id.tsx'

const WORDS: Readonly<Record<string, string>> = {
  operator: say('operator key'),
  api_key: say('API key'),
  holder: say('holder'),
  page: say('hosted page'),
  sender: say('signal'),
  person: say('person'),
  service: say('the service'),
  anonymous: say('a caller without a key'),
}

interface ActorProps {
  readonly type: string
  readonly id: string | null
}

/** Who did something: a person by name, otherwise the kind and the id where there is one. */
export function Actor({ type, id }: ActorProps): JSX.Element {
  const word = WORDS[type] ?? type
  const name = usePersonName(type === 'person' ? (id ?? undefined) : undefined)
  if (id === null) return <span>{word}</span>
  if (name !== undefined) return <span title={id}>{name}</span>
  return (
    <span title={id}>
      {word} <code>{shorten(id)}</code>
    </span>
  )
}
