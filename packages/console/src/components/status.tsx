import type { JSX } from 'preact'
import { say } from '../say.ts'
import { Pill, type Tone } from './state.tsx'

const SHOWN: Readonly<Record<string, readonly [tone: Tone, word: string]>> = {
  active: ['good', say('Active')],
  revoked: ['bad', say('Revoked')],
  expired: ['none', say('Expired')],
}

export function Status({ status }: { readonly status: string }): JSX.Element {
  const [tone, word] = SHOWN[status] ?? ['none', status]
  return <Pill tone={tone}>{word}</Pill>
}
