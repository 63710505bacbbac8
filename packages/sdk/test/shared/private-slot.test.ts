import { expect, test } from 'vitest'
import { createPrivateSlot } from '../../src/shared/private-slot.ts'

test('what is noted about an object is found again, and only there', () => {
  const [ours, theirs] = [createPrivateSlot<number>(), createPrivateSlot<number>()]
  const request = { url: '/orders' }
  ours.set(request, 1)
  expect(ours.get(request)).toBe(1)
  expect(theirs.get(request)).toBeUndefined()
  expect(ours.get({ url: '/orders' })).toBeUndefined()
  ours.set(request, 2)
  expect(ours.get(request)).toBe(2)
})

test('a note is seen by no one who lists, prints, copies or inherits from the object', () => {
  const notes = createPrivateSlot<object>()
  const request = { url: '/orders' }
  notes.set(request, { secret: true })
  expect(Reflect.ownKeys(request)).toEqual(['url'])
  expect(notes.get({ ...request })).toBeUndefined()
  expect(notes.get(Object.create(request))).toBeUndefined()
  expect(JSON.stringify(request)).toBe('{"url":"/orders"}')
  expect(Reflect.ownKeys(structuredClone(request))).toEqual(['url'])
})

test.each([
  ['frozen', Object.freeze({})],
  ['sealed', Object.seal({})],
  ['not extensible', Object.preventExtensions({})],
])('an object that is %s can be noted too', (_, object) => {
  const notes = createPrivateSlot<number>()
  expect(notes.get(object)).toBeUndefined()
  notes.set(object, 1)
  expect(notes.get(object)).toBe(1)
})
