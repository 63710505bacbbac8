import { execFileSync } from 'node:child_process'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { sections } from '../packages/service/src/documents/reading-order.ts'

const root = join(import.meta.dirname, '..')

/** The text of the first code block of that kind. */
function block(file: string, kind: string): string {
  const found = new RegExp(`^\`\`\`${kind}\\n(.*?)^\`\`\`$`, 'ms').exec(
    readFileSync(join(root, file), 'utf8'),
  )?.[1]
  if (found === undefined) throw new Error(`${file} has no ${kind} block`)
  return found
}

test('the example of the core prints what the guide says', () => {
  const printed = execFileSync(process.execPath, ['--conditions=countersign-source', '--input-type=module'], {
    cwd: root,
    input: block('docs/guides/core.md', 'js'),
    encoding: 'utf8',
  })
  expect(printed).toBe(block('docs/guides/core.md', 'text'))
})

test('every script that the README names is there', () => {
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    scripts: Record<string, string>
  }
  const named = [...block('README.md', 'sh two-commands').matchAll(/npm (?:run )?(\w+)/g)]
    .map(([, name]) => name)
    .filter((name) => name !== 'ci')
  expect(named).toEqual(['start', 'test'])
  for (const name of named) expect(scripts).toHaveProperty(String(name))
})

const documents = [
  ...['README.md', 'ARCHITECTURE.md', 'CONTRIBUTING.md', 'SECURITY.md', 'CHANGELOG.md'],
  ...globSync('{docs,examples}/**/*.md', { cwd: root }),
]

test.each(documents)('every link of %s into the repository leads somewhere', (file) => {
  const text = readFileSync(join(root, file), 'utf8')
  const targets = [...text.matchAll(/\]\((?!https?:|#)([^)#]+)(?:#[^)]*)?\)/g)].map(([, target]) =>
    String(target),
  )
  expect(targets.filter((target) => !existsSync(join(root, dirname(file), target)))).toEqual([])
})

test('the README leads to every document of the navigation', () => {
  const text = readFileSync(join(root, 'README.md'), 'utf8')
  const linked = new Set([...text.matchAll(/\]\(([^)#]+)\)/g)].map(([, target]) => String(target)))
  const paths = sections.flatMap(({ pages }) => pages.map(({ path }) => path))
  expect(paths.filter((path) => path !== 'README.md' && !linked.has(path))).toEqual([])
})
