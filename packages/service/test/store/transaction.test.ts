import { expect, it } from 'vitest'
import {
  exec,
  lock,
  row,
  rows,
  type Step,
  type StepAnswer,
  type Transaction,
  together,
} from '../../src/store/transaction.ts'

/** Runs a transaction like a store: in order, each step of a round before the next. */
function run<T>(transaction: Transaction<T>): { readonly rounds: readonly Step[]; readonly result: T } {
  const rounds: Step[] = []
  const answer = (step: Step): StepAnswer => {
    if (step.kind === 'together') return step.steps.map(answer)
    return step.kind === 'sql' ? [{ sql: step.sql }] : undefined
  }
  let state = transaction.next(undefined)
  while (state.done !== true) {
    rounds.push(state.value)
    state = transaction.next(answer(state.value))
  }
  return { rounds, result: state.value }
}

const sql = (text: string): Step => ({ kind: 'sql', sql: text, values: [] })

it('parts run together, each step beside the same step of the others, in their order', () => {
  function* two(): Transaction<string> {
    const first = yield* row('a1')
    yield* exec('a2')
    return String(first?.sql)
  }
  const { rounds, result } = run(together(lock('name'), two(), rows('b1')))
  expect(rounds).toEqual([
    { kind: 'together', steps: [{ kind: 'lock', names: ['name'] }, sql('a1'), sql('b1')] },
    { kind: 'together', steps: [{ kind: 'exec', sql: 'a2', values: [] }] },
  ])
  expect(result).toEqual([undefined, 'a1', [{ sql: 'b1' }]])
})

it('a part may run parts together, and one without steps is done at once', () => {
  const { rounds, result } = run(together(together(), together(row('a'), row('b')), row('c')))
  expect(rounds).toEqual([
    { kind: 'together', steps: [{ kind: 'together', steps: [sql('a'), sql('b')] }, sql('c')] },
  ])
  expect(result).toEqual([[], [{ sql: 'a' }, { sql: 'b' }], { sql: 'c' }])
  expect(run(together()).rounds).toEqual([])
})
