import { expect, test } from 'vitest'
import { listMembers, type Schema } from '../../src/reference/schema-members.ts'

test('I-19: looks at each form of an object once', () => {
  const forms = ['a', 'b', 'c']
  const leaf = { type: 'object', properties: { x: {}, y: {} }, required: ['x'] }
  const branch = (next: string) => ({ anyOf: forms.map((form) => ({ $ref: `${next}${form}` })) })
  const schemas: Record<string, Schema> = {}
  for (const form of forms) {
    schemas[`1${form}`] = { type: 'object', properties: { inner: branch('2') }, required: ['inner'] }
    schemas[`2${form}`] = leaf
  }
  let resolved = 0
  const members = listMembers(branch('1'), (reference) => {
    resolved++
    return schemas[reference] as Schema
  })
  expect(members).toMatchObject([
    {
      name: 'inner',
      isRequired: true,
      members: [
        { name: 'x', isRequired: true },
        { name: 'y', isRequired: false },
      ],
    },
  ])
  expect(resolved).toBe(3 + 3 * 3)
})
