import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

/**
 * The detail of a problem says what is wrong and what to do, in sentences: "The credential has
 * expired. Request a new one from its issuer."
 */
const SENTENCES = /^[A-Z`][^]*[.]$/

const root = join(import.meta.dirname, '..')
const TEXT = /'((?:[^'\\\n]|\\.)*)'|"((?:[^"\\\n]|\\.)*)"|`((?:[^`\\]|\\.)*)`/.source

/** What follows the code of a problem, or is named detail. */
const DETAILS = [
  new RegExp(`\\b(?:deny|new Problem)\\(\\s*'\\w+',\\s*(?:${TEXT})`, 'g'),
  new RegExp(`\\bdetail(?: =|:)\\s+(?:${TEXT})`, 'g'),
]

const found = globSync('packages/{core,service}/src/**/*.ts', { cwd: root })
  .concat(globSync('packages/sdk/src/{guard,adapters}/*.ts', { cwd: root }))
  .flatMap((file) => {
    const source = readFileSync(join(root, file), 'utf8')
    return DETAILS.flatMap((pattern) => [...source.matchAll(pattern)]).map(
      ([, single, double, template]) => `${file}: ${single ?? double ?? template}`,
    )
  })

test('the details of problems are found', () => {
  expect(found.length).toBeGreaterThan(100)
})

test('every detail of a problem consists of sentences', () => {
  expect(found.filter((each) => !SENTENCES.test(each.slice(each.indexOf(': ') + 2)))).toEqual([])
})
