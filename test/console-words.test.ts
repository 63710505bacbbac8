import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { LANGUAGES } from '../packages/console/language-pages.ts'
import { findFaults, readConsoleTexts, readTexts, toFile } from '../scripts/console-texts.ts'

describe('the words of the console', () => {
  it('are all said in the language of the page', { tags: 'long' }, () => {
    expect(readConsoleTexts().bare).toEqual([])
  })

  it('are in one file: npm run console-words', { tags: 'long' }, () => {
    expect(readFileSync(join(LANGUAGES, 'en.json'), 'utf8')).toBe(toFile(readConsoleTexts().words))
  })

  it.each([
    ['an element', '<p>All tokens</p>'],
    ['a word in lower case', '<p>{isOld ? "stale" : say("fresh")}</p>'],
    ['an attribute', '<input placeholder="Why?" />'],
    ['a value of a sentence', 'say("It is {state}", { state: isOld ? "stale" : say("fresh") })'],
    ['a text that is put together', 'say("All " + noun)'],
    ['a number with its unit', 'const words = { "1h": "1 hour" }'],
    ['a constant', 'const words = { on: "Switched on" }'],
  ])('are found outside of a call: %s', (_name, source) => {
    expect(readTexts('page.tsx', source).bare).not.toEqual([])
  })

  it('are no classes, ids, paths, commands or names of keys', () => {
    const source = '<p class="wide row" id="you"><code>countersign help</code><kbd>Enter</kbd></p>'
    expect(readTexts('page.tsx', source)).toEqual({ words: {}, bare: [] })
  })
})

describe('the words in another language', () => {
  const read = (language: string) => JSON.parse(readFileSync(join(LANGUAGES, `${language}.json`), 'utf8'))
  const languages = globSync('*.json', { cwd: LANGUAGES }).map((file) => file.replace('.json', ''))

  it.each(languages)('have every text, with its values and its forms: %s', (language) => {
    expect(findFaults(read('en'), read(language), language)).toEqual([])
  })

  it.each(languages)('are a language that the console loads: %s', (language) => {
    const source = readFileSync(join(LANGUAGES, '../src/say.ts'), 'utf8')
    if (language !== 'en') expect(source).toContain(`import('../languages/${language}.json')`)
  })

  const english = { 'Revoke {id}': 'Revoke {id}', '{count} users': { one: '', other: '' } }
  const forms = (two: string, few: string) => ({
    '{count} users': { zero: '{count}', one: '{count}', two, few, many: '{count}', other: '{count}' },
  })
  const complete = { 'Revoke {id}': 'إبطال {id}', ...forms('{count}', '{count}') }

  it.each([
    ['a text that is gone', { Distrust: 'سحب الثقة' }],
    ['a text that is missing', { 'Revoke {id}': undefined }],
    ['a text that is empty', { 'Revoke {id}': ' ' }],
    ['a form that is empty', forms('', '{count}')],
    ['a value with another name', { 'Revoke {id}': 'إبطال {name}' }],
    ['a value that is missing', { 'Revoke {id}': 'إبطال' }],
    ['a form that is missing', { '{count} users': { one: '{count}', other: '{count}' } }],
    ['a form for several numbers without its number', forms('مستخدمان', 'مستخدمون')],
    ['one form only', { '{count} users': '{count}' }],
  ])('are checked for %s', (_name, words) => {
    expect(findFaults(english, complete, 'ar')).toEqual([])
    const changed = Object.entries({ ...complete, ...words }).filter(([, text]) => text !== undefined)
    expect(findFaults(english, Object.fromEntries(changed) as typeof complete, 'ar')).toHaveLength(1)
  })

  it('can have a word for a number', () => {
    expect(findFaults(english, { ...complete, ...forms('مستخدمان', '{count}') }, 'ar')).toEqual([])
  })
})
