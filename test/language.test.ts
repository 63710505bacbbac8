import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'

/**
 * Words that make text hard to read, and how often each may still occur in each area. A budget only
 * falls: a test fails when a word occurs more often. In documents and sources it also fails when
 * the word occurs less often, so that the budget is lowered with it. What to write instead: the
 * glossary in CONTRIBUTING.md; and "caller", "client", "holder", "operator"
 * and so on for somebody, nobody and whoever; "again", "permanently", "fix", "valid", "accept",
 * "delegate", "mark as compromised", "reactivate" for the others.
 */
const BUDGETS: Readonly<Record<string, readonly [pattern: RegExp, budget: Budget]>> = {
  somebody: [/\bsomebody\b/gi, {}],
  nobody: [/\bnobody\b/gi, {}],
  everybody: [/\beverybody\b/gi, {}],
  anybody: [/\banybody\b/gi, {}],
  whoever: [/\bwhoever\b/gi, {}],
  anew: [/\banew\b/gi, {}],
  'for ever': [/\bfor ever\b/gi, {}],
  mend: [/\bmend(?:s|ed|ing)?\b/gi, {}],
  'will not do': [/\bwill not do\b/gi, {}],
  'does not hold': [/\b(?:do|does|did) not hold\b/gi, {}],
  'in the wrong way': [/\bin the wrong way\b/gi, {}],
  'let in': [/\b(?:let|lets|letting) (?:\w+ )?in\b/gi, {}],
  'let through': [/\b(?:let|lets|letting) (?:\w+ ){0,4}through\b/gi, { tests: 6 }],
  tell: [/\b(?:told|tells?)\b/gi, { docs: 7, decisions: 15, strings: 15, comments: 9, tests: 421 }],
  stand: [/\bstands?\b/gi, { decisions: 3, comments: 3, tests: 44 }],
  refuse: [
    /(?<!connections? )(?<!ECONN)\brefus\w*/gi,
    { docs: 1, decisions: 47, strings: 16, comments: 2, tests: 363 },
  ],
  'take away': [/\b(?:take|takes|took|taken|taking) (?:\w+ )?away\b/gi, { comments: 1, tests: 14 }],
  whom: [/\bwhom\b/gi, { docs: 1, comments: 1, tests: 5 }],
  hear: [/\bhears?\b/gi, { decisions: 2, strings: 10, comments: 2, tests: 21 }],

  'front door': [/\bfront doors?\b/gi, {}],
  'hand on': [/\b(?:hand|hands|handed|handing) (?:\w+ )?on\b/gi, {}],
  condemn: [/\bcondemn\w*/gi, {}],
  revive: [/\breviv\w*/gi, {}],
  stranger: [/\bstrangers?\b/gi, {}],
  knowledge: [/\bknowledge\b/gi, {}],
}

type Area = 'docs' | 'decisions' | 'strings' | 'comments' | 'tests'
type Budget = Partial<Readonly<Record<Area, number>>>

const root = join(import.meta.dirname, '..')

const FILES: Readonly<Record<'docs' | 'sources' | 'tests', readonly string[]>> = {
  docs: ['*.md', 'docs/**/*.{md,svg}', 'examples/**/*.{md,ts,conf}', 'deploy/*', 'packages/*/README.md'],
  sources: ['packages/*/src/**/*.{ts,tsx}', 'scripts/**/*.ts', 'bench/{*,*/*}.ts', '.dependency-cruiser.cjs'],
  tests: ['packages/*/test/**/*.ts', 'test/**/*.ts'],
}
/** This file names the words that it counts, and so does the glossary. */
const EXCEPTIONS = ['test/language.test.ts']
const GLOSSARY = /(?<=^## Glossary\n)[\s\S]*?(?=^## )/m

const COMMENT = /\/\*[\s\S]*?\*\/|(?<=^|\s)\/\/.*$/gm

function readAll(patterns: readonly string[]): readonly (readonly [file: string, text: string])[] {
  const files = globSync([...patterns], { cwd: root }).filter(
    (file) => !file.includes('node_modules') && !EXCEPTIONS.includes(file),
  )
  return files.sort().map((file) => {
    const text = readFileSync(join(root, file), 'utf8')
    return [file, file === 'CONTRIBUTING.md' ? text.replace(GLOSSARY, blank) : text]
  })
}

/** Keeps the line numbers of what is left. */
const blank = (text: string) => text.replaceAll(/[^\n]/g, ' ')

const sources = readAll(FILES.sources)
const docs = readAll(FILES.docs)
/** Texts of their time, and the page of test names. */
const isRecord = (file: string) => /^(?:CHANGELOG\.md|docs\/attacks\.md|docs\/decisions\/)/.test(file)
const TEXTS: Readonly<Record<Area, ReturnType<typeof readAll>>> = {
  docs: docs.filter(([file]) => !isRecord(file)),
  decisions: docs.filter(([file]) => isRecord(file)),
  strings: sources.map(([file, text]) => [file, text.replaceAll(COMMENT, blank)]),
  comments: sources.map(([file, text]) => [file, findComments(text)]),
  tests: readAll(FILES.tests),
}

function findComments(text: string): string {
  let end = 0
  let comments = ''
  for (const { 0: comment, index } of text.matchAll(COMMENT)) {
    comments += blank(text.slice(end, index)) + comment
    end = index + comment.length
  }
  return comments
}

/** `docs/errors.md:12`, for each occurrence. */
function findOccurrences(pattern: RegExp, area: Area): readonly string[] {
  return TEXTS[area].flatMap(([file, text]) =>
    [...text.matchAll(pattern)].map(({ index }) => `${file}:${text.slice(0, index).split('\n').length}`),
  )
}

describe.each(Object.entries(BUDGETS))('"%s"', (word, [pattern, budget]) => {
  test.each(Object.keys(TEXTS) as Area[])('in %s occurs as often as its budget says', (area) => {
    const places = findOccurrences(pattern, area)
    const allowed = budget[area] ?? 0
    const advice =
      places.length > allowed
        ? `"${word}" occurs ${places.length} times in ${area}, and ${allowed} are allowed. Write it in plain words:\n  ${places.join('\n  ')}`
        : `"${word}" occurs only ${places.length} times in ${area}. Lower its budget in test/language.test.ts.`
    if (area === 'tests' || area === 'decisions') expect(places.length, advice).toBeLessThanOrEqual(allowed)
    else expect(places.length, advice).toBe(allowed)
  })
})

test('every area has texts', () => {
  for (const texts of Object.values(TEXTS)) expect(texts.length).toBeGreaterThan(20)
})

test('no function is named xOf', () => {
  const xOf = /\b(?:function\*? |const )(?!\w*(?:OneOf|asOf)\b)[a-z]\w*[a-z]Of\b/g
  expect(
    sources.flatMap(([file, text]) => [...text.matchAll(xOf)].map(([name]) => `${file}: ${name}`)),
  ).toEqual([])
})

test('comments and strings are distinguished', () => {
  const text = "const a = 'https://x.example' // one\n/** two\n * three */ const b = 'four'\n"
  expect(findComments(text).replaceAll(/\s+/g, ' ').trim()).toBe('// one /** two * three */')
  expect(text.replaceAll(COMMENT, blank).replaceAll(/\s+/g, ' ').trim()).toBe(
    "const a = 'https://x.example' const b = 'four'",
  )
})
