import type { JSX } from 'preact'
import { shorten } from './id.tsx'

const WORDS: Readonly<Record<string, string>> = {
  operator: 'operator key',
  api_key: 'API key',
  holder: 'holder',
  page: 'hosted page',
  sender: 'signal',
  person: 'person',
  service: 'the service',
  anonymous: 'a caller without a key',
}

interface ActorProps {
  readonly type: string
  readonly id: string | null
}

/** Who did something: the kind, and its id where there is one. */
export function Actor({ type, id }: ActorProps): JSX.Element {
  const word = WORDS[type] ?? type
  return id === null ? (
    <span>{word}</span>
  ) : (
    <span title={id}>
      {word} <code>{shorten(id)}</code>
    </span>
  )
}
