import { expect, test } from 'vitest'
import { JwtCache, type VerifiedJwt } from '../../src/verify/jwt-cache.ts'

const jwt = (length: number) => ({ length }) as VerifiedJwt

test('the cache is bounded by its number of tokens', () => {
  const cache = new JwtCache({ capacity: 2 })
  for (const digest of ['a', 'b', 'c']) cache.set(digest, jwt(1))
  expect(cache.size).toBe(2)
  expect(cache.find('a')).toBeUndefined()
})

test('and by their length: a few long tokens take the place of many short ones', () => {
  const cache = new JwtCache({ charsMax: 10_000 })
  for (let i = 0; i < 20; i++) cache.set(`short ${i}`, jwt(500))
  expect(cache.size).toBe(20)
  cache.set('long', jwt(8000))
  expect(cache.size).toBe(5)
  expect(cache.find('short 16')).toBeDefined()
  expect(cache.find('short 15')).toBeUndefined()
})

test('a token that is set again counts once', () => {
  const cache = new JwtCache({ charsMax: 1000 })
  cache.set('other', jwt(500))
  for (let i = 0; i < 5; i++) cache.set('same', jwt(500))
  expect(cache.size).toBe(2)
})
