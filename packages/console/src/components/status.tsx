import type { JSX } from 'preact'
import { Pill, type Tone } from './state.tsx'

const TONES: Readonly<Record<string, Tone>> = { active: 'good', revoked: 'bad', expired: 'none' }

export function Status({ status }: { readonly status: string }): JSX.Element {
  return <Pill tone={TONES[status] ?? 'none'}>{status[0]?.toUpperCase() + status.slice(1)}</Pill>
}
