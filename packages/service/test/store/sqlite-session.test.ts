import Database from 'better-sqlite3'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { SqliteSession } from '../../src/store/sqlite/session.ts'

let session: SqliteSession

beforeEach(() => {
  session = new SqliteSession(new Database(':memory:'))
  session.rows('CREATE TABLE t (a INTEGER, b TEXT)')
  for (const [i, b] of ['x', 'y', 'x', 'x'].entries()) session.rows('INSERT INTO t VALUES ($1, $2)', i, b)
})

afterEach(() => session.db.close())

it('values have the places that their numbers name, in any order and more than once', () => {
  expect(session.rows('SELECT $2 AS two, $1 AS one, $2 AS again', 'a', 'b')).toEqual([
    { two: 'b', one: 'a', again: 'b' },
  ])
  const many = Array.from({ length: 12 }, (_, i) => i + 1)
  expect(
    session.rows(`SELECT $12 AS twelve, $1 AS one, ${many.map((n) => `$${n}`).join(' + ')} AS sum`, ...many),
  ).toEqual([{ twelve: 12, one: 1, sum: 78 }])
})

it('a limit is the value of each run', () => {
  const limited = (b: string, limit: number) =>
    session.rows('SELECT a FROM t WHERE b = $1 ORDER BY a LIMIT $2', b, limit).map(({ a }) => a)
  expect(limited('x', 2)).toEqual([0, 2])
  expect(limited('x', 9)).toEqual([0, 2, 3])
  expect(limited('y', 0)).toEqual([])
})

it('a value that is missing is an error instead of NULL', () => {
  expect(() => session.rows('SELECT $1 AS a, $2 AS b', 1)).toThrow(TypeError)
  expect(() => session.rows('INSERT INTO t VALUES ($1, $2)', 7)).toThrow(TypeError)
  expect(session.rows('SELECT * FROM t WHERE a = 7')).toEqual([])
})
