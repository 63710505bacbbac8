import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { endpointList } from '@countersign/core/contract'
import { expect, test } from 'vitest'
import { calls } from '../packages/sdk/src/client/client.ts'
import { commands } from '../packages/service/src/reference/commands.ts'
import { hasClientMethod, toMethodName } from '../packages/service/src/reference/example-requests.ts'

const help = readFileSync(join(import.meta.dirname, '../docs/cli.md'), 'utf8')

test.each(Object.entries(commands))('the command of %s exists, with its options: %s', (_id, command) => {
  const [, name = '', sub = ''] = command.split(' ')
  const usages = [`countersign ${name} ${sub} [`, `countersign ${name} [`]
  const start = usages.map((usage) => help.indexOf(`Usage: ${usage}`)).find((at) => at >= 0)
  expect(start, command).toBeDefined()
  const own = help.slice(start, help.indexOf('```', start))
  for (const [option] of command.matchAll(/--[a-z-]+/g)) expect(own, command).toContain(option)
})

test('the API reference shows the typed client where it has a method', () => {
  const shown = endpointList.filter(hasClientMethod).map(({ id }) => toMethodName(id))
  expect(shown.toSorted()).toEqual(Object.keys(calls).toSorted())
})
