import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'

const ROOT = join(import.meta.dirname, '..')
const FOLDERS = [
  'packages/core/test',
  'packages/service/test',
  'packages/sdk/test',
  'packages/cli/test',
  'test',
]
/** `A132` is an attack, `I-7` an invariant. */
const NUMBER = /\b(?:A\d{3}|I-\d{1,2})\b/g
const STRING = /'((?:[^'\\\n]|\\.)*)'|`((?:[^`\\\n]|\\.)*)`|"((?:[^"\\\n]|\\.)*)"/g

interface Covered {
  readonly number: string
  readonly title: string
  readonly file: string
}

/**
 * The page `docs/attacks.md`, made from the names of the tests: which attack and invariant is
 * tested where.
 */
export function attackPageText(): string {
  const covered = FOLDERS.flatMap((folder) => listTests(join(ROOT, folder)).flatMap(readTest))
  const rows = new Map<string, Map<string, string>>()
  for (const { number, title, file } of covered) {
    const files = rows.get(number) ?? new Map<string, string>()
    if (!files.has(file)) files.set(file, title)
    rows.set(number, files)
  }
  const table = (prefix: string) =>
    [...rows]
      .filter(([number]) => number.startsWith(prefix))
      .sort(([a], [b]) => a.localeCompare(b, 'en', { numeric: true }))
      .flatMap(([number, files]) =>
        [...files].map(
          ([file, title], i) => `| ${i === 0 ? number : ''} | ${title} | [\`${file}\`](../${file}) |`,
        ),
      )
      .join('\n')
  return `# Attacks and invariants

Tests carry the number of the attack they try (\`A…\`) or of the invariant they check (\`I-…\`).
This page is made from their names by \`npm run attacks\`.

## Attacks

| number | what the test says | test |
|---|---|---|
${table('A')}

## Invariants

| number | what the test says | test |
|---|---|---|
${table('I-')}
`
}

function listTests(folder: string): string[] {
  const entries = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  return entries
    .filter((name) => name.endsWith('.test.ts') || /suite-?[a-z-]*\.ts$/.test(name))
    .sort()
    .map((name) => relative(ROOT, join(folder, name)))
}

/** The numbers in the string literals of a file, each with the literal as its title. */
function readTest(file: string): Covered[] {
  const text = readFileSync(join(ROOT, file), 'utf8')
  return [...text.matchAll(STRING)].flatMap(([, single, template, double]) => {
    const literal = single ?? template ?? double ?? ''
    return [...literal.matchAll(NUMBER)].map(([number]) => ({ number, title: toTitle(literal), file }))
  })
}

/** The sentence without its numbers, safe in a table. */
function toTitle(literal: string): string {
  const words = literal
    .replaceAll(/\((?:(?:A\d{3}|I-\d{1,2}|[SB]\d{1,2})(?:, |–| and )?)+\)/g, '')
    .replaceAll(NUMBER, '')
    .replaceAll(/\\(.)/g, '$1')
    .replaceAll(/\$\{[^}]*\}|%[sij]/g, '…')
    .replaceAll('|', '\\|')
    .replaceAll(/[<>]/g, (bracket) => (bracket === '<' ? '&lt;' : '&gt;'))
    .replaceAll(/ +/g, ' ')
    .replace(/^[\s:,–-]+|[\s:,–-]+$/g, '')
  return words === '' ? 'see the test' : words
}
