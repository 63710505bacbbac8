import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { type CaseResult, judge, readExcluded } from '../scripts/conformance-list.ts'

const row = (id: string, result: CaseResult['result']): CaseResult => ({ id, title: `case ${id}`, result })

describe('the list of excluded cases', () => {
  test('is ids with reasons, between comments', () => {
    expect([...readExcluded('# why\n\nA001  not built\nM02 nor this \n')]).toEqual([
      ['A001', 'not built'],
      ['M02', 'nor this '],
    ])
  })
  test.each(['A001', 'A001 ', 'a001 reason', 'A001 one\nA001 two'])('may not be %j', (text) => {
    expect(() => readExcluded(text)).toThrow(TypeError)
  })
  test('can be read as it stands', () => {
    expect(() =>
      readExcluded(readFileSync(join(import.meta.dirname, 'conformance-excluded.txt'), 'utf8')),
    ).not.toThrow()
  })
})

test('a case counts unless it is excluded, and an exclusion without need is named', () => {
  const results = [
    row('A1', 'pass'),
    row('A2', 'fail'),
    row('A3', 'skip'),
    row('A4', 'pass'),
    row('A5', 'fail'),
  ]
  const excluded = readExcluded('A4 reason\nA5 reason\nA6 reason')
  expect(judge(results, excluded)).toEqual({
    passed: 1,
    failed: [results[1]],
    skipped: [results[2]],
    excused: 1,
    stale: ['A4'],
    unknown: ['A6'],
  })
})

describe('npm run conformance', () => {
  const directory = mkdtempSync(join(tmpdir(), 'countersign-conformance-test-'))
  afterAll(() => rmSync(directory, { recursive: true, force: true }))

  /** A client that asks the service whether it is well, and then says what it was told to say. */
  const run = (results: readonly CaseResult[], ...more: string[]) => {
    const client = join(directory, 'run.mjs')
    const excluded = join(directory, 'excluded.txt')
    writeFileSync(excluded, 'A4 reason\nA5 reason\n')
    writeFileSync(
      client,
      `import fs from 'node:fs'
const [, dev, , out] = process.argv.slice(2)
const { base_url } = JSON.parse(fs.readFileSync(dev, 'utf8'))
const results = (await fetch(base_url + '/readyz')).ok ? ${JSON.stringify(results)} : []
fs.writeFileSync(out, JSON.stringify({ results }))
console.log('the closing line')
process.exitCode = 1\n`,
    )
    const script = join(import.meta.dirname, '../scripts/conformance.ts')
    const flags = ['--conditions=countersign-source', script, client, '--excluded', excluded, ...more]
    return spawnSync(process.execPath, flags, { encoding: 'utf8' })
  }

  test('passes when only excluded cases fail, and prints the closing line of the client', {
    tags: 'long',
  }, () => {
    const { status, stdout } = run([row('A1', 'pass'), row('A4', 'pass'), row('A5', 'fail')])
    expect([status, stdout]).toEqual([
      0,
      'Passing, so no longer to be excluded: A4\nthe closing line\nof what is built so far: 1 of 1 passed; 1 excluded cases did not pass\n',
    ])
  })
  test('does the same on PostgreSQL, and says which is which', { tags: 'long' }, () => {
    const { status, stdout } = run([row('A1', 'pass')], '--store', 'all')
    const said = 'the closing line\nof what is built so far: 1 of 1 passed; 0 excluded cases did not pass\n'
    const unknown = 'Excluded, but the client has no such case: A4 A5\n'
    expect([status, stdout]).toEqual([0, `on SQLite:\n${unknown}${said}on PostgreSQL:\n${unknown}${said}`])
    expect(run([], '--store', 'mysql')).toMatchObject({
      status: 2,
      stderr: '--store must be sqlite, postgres or all\n',
    })
  })
  test('fails when any other case fails', { tags: 'long' }, () => {
    const { status, stdout } = run([row('A1', 'pass'), row('A2', 'fail'), row('A5', 'fail')])
    expect(status).toBe(1)
    expect(stdout).toContain('FAIL A2 case A2')
    expect(stdout).not.toContain('A5')
  })
  test('fails when the client has nothing to say', { tags: 'long' }, () => {
    expect(run([]).status).toBe(1)
  })
})
