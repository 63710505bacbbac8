import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const root = join(import.meta.dirname, '..')
const readme = readFileSync(join(root, 'README.md'), 'utf8')

/** The text of the first code block in that language. */
function block(language: string): string {
  const found = new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, 'ms').exec(readme)?.[1]
  if (found === undefined) throw new Error(`README.md has no ${language} block`)
  return found
}

test('the first example of the README prints what the README says', () => {
  const printed = execFileSync(process.execPath, ['--conditions=countersign-source', '--input-type=module'], {
    cwd: root,
    input: block('js'),
    encoding: 'utf8',
  })
  expect(printed).toBe(block('text'))
})

test('every script that the README names is there', () => {
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { scripts: Record<string, string> }
  const named = [...block('sh').matchAll(/npm (?:run )?(\w+)/g)].map(([, name]) => name).filter((name) => name !== 'ci')
  expect(named).toEqual(['start', 'test'])
  for (const name of named) expect(scripts).toHaveProperty(String(name))
})

test.each(['README.md', 'ARCHITECTURE.md', 'CONTRIBUTING.md', 'SECURITY.md', 'CHANGELOG.md'])(
  'every link of %s into the repository leads somewhere',
  (file) => {
    const text = readFileSync(join(root, file), 'utf8')
    const targets = [...text.matchAll(/\]\((?!https?:)([^)#]+)(?:#[^)]*)?\)/g)].map(([, target]) => String(target))
    expect(targets.filter((target) => !existsSync(join(root, target)))).toEqual([])
  },
)
