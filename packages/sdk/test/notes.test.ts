import { expect, test } from 'vitest'
import { createNotes } from '../src/notes.ts'

test('what is noted about an object is found again, and by nobody else', () => {
  const [ours, theirs] = [createNotes<number>('one'), createNotes<number>('one')]
  const request = { url: '/orders' }
  ours.set(request, 1)
  expect(ours.get(request)).toBe(1)
  expect(theirs.get(request)).toBeUndefined()
  expect(ours.get({ url: '/orders' })).toBeUndefined()
  ours.set(request, 2)
  expect(ours.get(request)).toBe(2)
})

test('a note is seen by no one who lists, prints as JSON or clones the object', () => {
  const notes = createNotes<object>('one')
  const request = { url: '/orders' }
  notes.set(request, { secret: true })
  expect(Object.keys(request)).toEqual(['url'])
  expect(JSON.stringify(request)).toBe('{"url":"/orders"}')
  expect(Reflect.ownKeys(structuredClone(request))).toEqual(['url'])
})

test.each([
  ['frozen', Object.freeze({})],
  ['sealed', Object.seal({})],
  ['not extensible', Object.preventExtensions({})],
])('an object that is %s can be noted too', (_, object) => {
  const notes = createNotes<number>('one')
  expect(notes.get(object)).toBeUndefined()
  notes.set(object, 1)
  expect(notes.get(object)).toBe(1)
})
