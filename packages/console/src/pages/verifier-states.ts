import type { Verifier } from '@countersign/core/contract'
import type { Tone } from '../components/state.tsx'

/** What a person sees of a verifier, from what the service says of it. */
export interface ShownState {
  readonly tone: Tone
  readonly word: string
}

export function showVerifier({ state, lag, fails_open }: Verifier): ShownState {
  if (state === 'connected' && lag === 0) return { tone: 'good', word: 'up to date' }
  if (state === 'connected') return { tone: 'late', word: `behind by ${lag}` }
  if (state === 'silent') return { tone: 'silent', word: 'silent' }
  return fails_open
    ? { tone: 'bad', word: 'not connected, may accept revoked access' }
    : { tone: 'gone', word: 'not connected, rejects everything' }
}

export function countUpToDate(all: readonly Verifier[]): { readonly good: number; readonly all: number } {
  return { good: all.filter((each) => showVerifier(each).tone === 'good').length, all: all.length }
}

/** Verifiers with the same name are instances of one application. */
export function groupByName(all: readonly Verifier[]): readonly (readonly [string, readonly Verifier[]])[] {
  const groups = new Map<string, Verifier[]>()
  for (const each of all) groups.set(each.verifier_id, [...(groups.get(each.verifier_id) ?? []), each])
  return [...groups].sort(([a], [b]) => a.localeCompare(b))
}
