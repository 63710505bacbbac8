import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

const source = (file: string) => new URL(`../src/${file}`, import.meta.url)

test('an older Node is rejected with its version and what to do', () => {
  const script = `import(${JSON.stringify(source('require-node.ts').href)}).then(({ requireNode }) => requireNode(process.argv[1]))`
  const start = (version: string) =>
    spawnSync(process.execPath, ['-e', script, version], { encoding: 'utf8' })
  expect(start('20.20.2')).toMatchObject({
    status: 2,
    stderr: expect.stringMatching(/needs Node 22\.12 or later; this is Node 20\.20\.2.*npx/),
  })
  expect([start('22.11.0').status, start('22.12.0').status, start('24.1.0').status]).toEqual([2, 0, 0])
})

test('the program imports nothing else before it has looked at the version', () => {
  const imports = [...readFileSync(source('main.ts'), 'utf8').matchAll(/^import .* from '(.*)'$/gm)].map(
    ([, from]) => from,
  )
  expect(imports).toEqual(['./require-node.ts'])
})
