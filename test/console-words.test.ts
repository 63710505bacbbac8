import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { LANGUAGES } from '../packages/console/language-pages.ts'
import { readConsoleTexts, readTexts, toFile } from '../scripts/console-texts.ts'

describe('the words of the console', () => {
  it('are all said in the language of the page', () => {
    expect(readConsoleTexts().bare).toEqual([])
  })

  it('are in one file: npm run console-words', () => {
    expect(readFileSync(join(LANGUAGES, 'en.json'), 'utf8')).toBe(toFile(readConsoleTexts().words))
  })

  it.each([
    ['an element', '<p>All tokens</p>'],
    ['a word in lower case', '<p>{isOld ? "stale" : say("fresh")}</p>'],
    ['an attribute', '<input placeholder="Why?" />'],
    ['a value of a sentence', 'say("It is {state}", { state: isOld ? "stale" : say("fresh") })'],
    ['a text that is put together', 'say("All " + noun)'],
    ['a constant', 'const words = { on: "Switched on" }'],
  ])('are found outside of a call: %s', (_name, source) => {
    expect(readTexts('page.tsx', source).bare).not.toEqual([])
  })

  it('are no classes, ids, paths, commands or names of keys', () => {
    const source = '<p class="wide row" id="you"><code>countersign help</code><kbd>Enter</kbd></p>'
    expect(readTexts('page.tsx', source)).toEqual({ words: {}, bare: [] })
  })
})
