import type { PropagationReceipt } from '@countersign/core/contract'
import { say } from '../say.ts'
import type { Act } from './state.ts'
import { toTitle } from './target.ts'

/** A list of this length may not name all verifiers. */
const LISTED_MAX = 100

/** How many verifiers had to apply the entry. */
export function countAll({ expected, connected, verifiers }: PropagationReceipt): number {
  return verifiers.length < LISTED_MAX ? verifiers.length : Math.max(expected, connected, verifiers.length)
}

/** `11 of 12` */
export function toCounts(propagation: PropagationReceipt): string {
  const { verifiers } = propagation
  const done = verifiers.filter(({ state }) => state === 'acknowledged').length
  const all = countAll(propagation)
  // A list that is too long begins with those that have not applied it.
  return say('{done} of {all}', { done: done + all - verifiers.length, all })
}

/** An act that goes on after its sheet was closed, in a few words. */
export function describeAct(act: Act): string {
  const progress = act.progress.value
  const title = toTitle(act.target)
  if (progress.at === 'unknown') return say('{title}: result unknown', { title })
  if (progress.at === 'done' && progress.propagation !== undefined)
    return `${title}: ${toCounts(progress.propagation)}`
  return say('{title}: waiting', { title })
}
