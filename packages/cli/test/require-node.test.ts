import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

const source = (file: string) => new URL(`../src/${file}`, import.meta.url)

test('an older Node is rejected with its version and what to do', { tags: 'long' }, () => {
  const script = `import(${JSON.stringify(source('require-node.ts').href)}).then(({ requireNode }) => requireNode(process.argv[1]))`
  const start = (version: string) =>
    spawnSync(process.execPath, ['-e', script, version], { encoding: 'utf8' })
  expect(start('20.20.2')).toMatchObject({
    status: 2,
    stderr: expect.stringMatching(
      /needs Node 22\.14 or later; this is Node 20\.20\.2\. Install Node 22, 24 or 26\.\n$/,
    ),
  })
  const codes = ['22.13.1', '22.14.0', '23.5.0', '23.6.0', '24.1.0'].map((version) => start(version).status)
  expect(codes).toEqual([2, 0, 2, 0, 0])
})

test('the program imports nothing else before it has looked at the version', () => {
  const imports = [...readFileSync(source('main.ts'), 'utf8').matchAll(/^import .* from '(.*)'$/gm)].map(
    ([, from]) => from,
  )
  expect(imports).toEqual(['./require-node.ts'])
})
