import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { bindOperations } from '../../src/store/operations/all.ts'

const STORE = join(import.meta.dirname, '../../src/store')
const operationFiles = readdirSync(join(STORE, 'operations'))
  .filter((name) => name.endsWith('.ts') && name !== 'all.ts')
  .map((name) => ({ name, text: readFileSync(join(STORE, 'operations', name), 'utf8') }))
const names = Object.keys(
  bindOperations(
    async () => undefined,
    () => '',
  ),
)

/** An operation with its own name: a generator, or one that is marked as a read. */
const DECLARED = /^export (?:function\* (\w+)[<(]|const (\w+) = read(?:Log)?\(function\* \()/gm

function findDeclared(text: string): readonly string[] {
  return [...text.matchAll(DECLARED)].map(([, generator, read]) => generator ?? read ?? '')
}

describe('go to definition from the port of the store leads to the SQL', () => {
  it('because every operation is declared under its own name, once', () => {
    const declared = operationFiles.flatMap(({ text }) => findDeclared(text))
    expect(declared.sort()).toEqual(names.sort())
  })

  it('because the files of operations export nothing else, except types', () => {
    for (const { name, text } of operationFiles) {
      const exported = [...text.matchAll(/^export (?!interface |type )/gm)]
      expect(exported, name).toHaveLength(findDeclared(text).length)
    }
  })

  it('because the port is derived from the modules, and repeats no operation', () => {
    const all = readFileSync(join(STORE, 'operations/all.ts'), 'utf8')
    const [, merged = ''] = /^const portOperations = \{\n([\s\S]*?)^\}/m.exec(all) ?? []
    const members = merged.trim().split(/\s+/)
    expect(members.length).toBeGreaterThan(20)
    for (const member of members) {
      expect(member).toMatch(/^\.\.\.\w+,$/)
      expect(all).toContain(`import * as ${member.slice(3, -1)} from './`)
    }
    const port = readFileSync(join(STORE, 'store.ts'), 'utf8')
    expect(port).toContain('interface Store extends PortOperations {')
    for (const name of names) expect(port).not.toMatch(new RegExp(`^ {2}(?:readonly )?${name}[(:<]`, 'm'))
  })
})
