import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

/**
 * The detail of a problem says what is wrong and what to do, in sentences: "The credential has
 * expired. Request a new one from its issuer."
 */
const SENTENCES = /^[A-Z`][\s\S]*[.]$/
/** A detail that begins or ends with another text is as good as that text. */
const COMPOSED = /^\$\{|\}$/

const root = join(import.meta.dirname, '..')
const TEXT = /'((?:[^'\\\n]|\\.)*)'|"((?:[^"\\\n]|\\.)*)"|`((?:[^`\\]|\\.)*)`/.source
const AFTER_CODE = new RegExp(`\\b(?:deny|new Problem)\\(\\s*'\\w+',\\s*(?:${TEXT})`, 'g')
const NAMED_DETAIL = new RegExp(`\\bdetail(?: =|:)\\s+(?:${TEXT})`, 'g')

const sources = [
  ...globSync('packages/{core,service}/src/**/*.ts', { cwd: root, exclude: ['**/operations/**'] }),
  ...globSync('packages/sdk/src/{guard,adapters}/*.ts', { cwd: root }),
]

function findTexts(pattern: RegExp): readonly string[] {
  return sources.flatMap((file) =>
    [...readFileSync(join(root, file), 'utf8').matchAll(pattern)].map(
      ([, single, double, template]) => single ?? double ?? template ?? '',
    ),
  )
}

test('every detail after a problem code consists of sentences', () => {
  const found = findTexts(AFTER_CODE)
  expect(found.length).toBeGreaterThan(90)
  expect(found.filter((text) => !SENTENCES.test(text))).toEqual([])
})

test('every text that is named detail consists of sentences', () => {
  const found = findTexts(NAMED_DETAIL)
  expect(found.length).toBeGreaterThan(10)
  expect(found.filter((text) => !SENTENCES.test(text) && !COMPOSED.test(text))).toEqual([])
})
