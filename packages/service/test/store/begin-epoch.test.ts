import { expect, test } from 'vitest'
import { beginEpoch } from '../../src/store/operations/epoch.ts'
import type { Row, Step } from '../../src/store/transaction.ts'
import { context } from './fixtures.ts'

const STATE = { epoch: 'old', position: 2, digest: 'd', lineage: 'a' }
const AUDITED = { state: STATE, sites: [], sitesSha256: 'audited' }

test('a new epoch reads nothing before the log and its checkpoint are locked: other nodes may be writing one', () => {
  const steps = beginEpoch('new', 'b', AUDITED, context())
  expect(steps.next().value).toEqual({ kind: 'lock', names: ['checkpoint', 'log'] })
})

const LOG: Row = { one: 1, ...STATE, keys_deleted: 0, mac: 'mac' }
const CHECKPOINT: Row = {
  one: 1,
  epoch: 'old',
  position: 2,
  digest: 'd',
  base_position: 0,
  base_digest: 'b',
  sites: 0,
  sites_sha256: 'audited',
  at: 1,
  mac: 'mac',
}

/** The statements until the heads are read, or until the end. */
function collectStatements(checkpoint: Row): readonly string[] {
  const steps = beginEpoch('new', 'b', AUDITED, context())
  const statements: string[] = []
  for (let step = steps.next(); !step.done; step = steps.next(answer(step.value, checkpoint))) {
    if (step.value.kind === 'sql' || step.value.kind === 'exec') statements.push(step.value.sql)
    if (statements.at(-1)?.includes('FROM heads')) break
  }
  return statements
}

function answer(step: Step, checkpoint: Row): never {
  const isLog = step.kind === 'sql' && step.sql.startsWith('UPDATE log')
  const found = step.kind === 'mac' ? 'mac' : step.kind === 'sql' ? [isLog ? LOG : checkpoint] : []
  return found as never
}

test('it does nothing when another node has written another checkpoint since the audit', () => {
  expect(collectStatements(CHECKPOINT).at(-1)).toContain('FROM heads')
  for (const other of [{ sites_sha256: 'other' }, { position: 1 }, { epoch: 'newer' }])
    expect(collectStatements({ ...CHECKPOINT, ...other }), JSON.stringify(other)).toHaveLength(2)
})
