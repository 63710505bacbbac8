import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const ROOT = join(import.meta.dirname, '..')
const CODE = [
  'packages/*/src/**/*.{ts,tsx}',
  'packages/*/test/**/*.ts',
  'test/**/*.ts',
  'scripts/**/*.ts',
  'bench/{*,*/*}.ts',
  'examples/**/*.ts',
  '.dependency-cruiser.cjs',
]
/** `docs/cli.md` is the help of the commands, in code blocks and paragraphs. */
const GENERATED = /node_modules|^docs\/cli\.md$/
const COMMENT = /^\s*(?:\/\/|\*|\/\*\*)/

/** `file:line` of every line that is wrong. The formatter sees to the width of code. */
function findLines(patterns: readonly string[], isWrong: (line: string) => boolean): string[] {
  const files = globSync([...patterns], { cwd: ROOT }).filter((file) => !GENERATED.test(file))
  return files.flatMap((file) =>
    readFileSync(join(ROOT, file), 'utf8')
      .replaceAll(/^ *```[\s\S]*?^ *```/gm, (block) => block.replaceAll(/[^\n]/g, ''))
      .split('\n')
      .flatMap((line, i) => (isWrong(line) ? [`${file}:${i + 1}`] : [])),
  )
}

test('comments have at most 100 columns', () => {
  expect(
    findLines(CODE, (line) => line.length > 100 && COMMENT.test(line) && !line.includes('biome-ignore')),
  ).toEqual([])
})

test('Markdown has one sentence per line', () => {
  const isProse = (line: string) => !/^\s*(?:[|#>`<[]|\d+\.|!\[|- \*\*|[-*] )/.test(line)
  const hasTwo = (line: string) =>
    / [a-z0-9`)]+[a-z)`]\. [A-Z][a-z]+ [a-z]/.test(line.replaceAll(/`[^`]*`|\([^)]*\)/g, 'x'))
  const files = ['*.md', 'docs/**/*.md', 'examples/**/*.md', 'bench/*.md', 'packages/*/README.md']
  expect(findLines(files, (line) => isProse(line) && hasTwo(line))).toEqual([])
})
