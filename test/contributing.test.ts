import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const ROOT = join(import.meta.dirname, '..')
const read = (file: string) => readFileSync(join(ROOT, file), 'utf8')

test('CONTRIBUTING lists every script of package.json, and no other', () => {
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> }
  const listed = [...read('CONTRIBUTING.md').matchAll(/^\| `(?:npm run (?:-s )?|npm )([a-z-]+)/gm)].map(
    ([, name]) => name,
  )
  const { postinstall: _, ...named } = scripts
  expect([...new Set(listed)].sort()).toEqual(Object.keys(named).sort())
})

test('ARCHITECTURE lists every package, and every folder of its sources', () => {
  const text = read('ARCHITECTURE.md')
  for (const name of readdirSync(join(ROOT, 'packages'))) {
    expect(text, name).toContain(`packages/${name}`)
    const folders = readdirSync(join(ROOT, 'packages', name, 'src'), { withFileTypes: true })
    for (const folder of folders.filter((entry) => entry.isDirectory())) {
      expect(text, `packages/${name}/src/${folder.name}`).toContain(`\`${folder.name}/`)
    }
  }
})

test('SECURITY lists every dependency of each package', () => {
  const [, table = ''] = /^## Dependencies\n([\s\S]*)/m.exec(read('SECURITY.md')) ?? []
  for (const name of readdirSync(join(ROOT, 'packages'))) {
    const [row = ''] = table.match(new RegExp(`^\\| \`${name}\` \\|.*$`, 'm')) ?? []
    const { dependencies = {} } = JSON.parse(read(`packages/${name}/package.json`)) as {
      dependencies?: Record<string, string>
    }
    for (const dependency of Object.keys(dependencies)) {
      const isOwn = dependency.startsWith('@countersign/')
      if (!isOwn) expect(row, name).toContain(`\`${dependency}\``)
    }
  }
})
