import { once } from 'node:events'
import { setFlagsFromString } from 'node:v8'
import { expect, test } from 'vitest'
import { keepShapes } from '../../src/http/keep-shapes.ts'
import { createAppDouble } from './app-double.ts'

setFlagsFromString('--allow-natives-syntax')
/** Whether V8 uses one hidden class for both, which is what its compiled code names. */
const haveSameShape = new Function('a', 'b', 'return %HaveSameMap(a, b)') as (a: object, b: object) => boolean

test('the kept objects have the shapes of those that a request has', async () => {
  const used: Record<string, object> = {}
  const { app } = createAppDouble({
    routes: {
      protected_action: async (request) => {
        used.request = request
        return { status: 200, body: {} }
      },
    },
  })
  const { port } = await app.listen()
  const answered = once(app.server, 'request').then(async ([message, response]) => {
    Object.assign(used, { message, response })
    await once(response, 'close')
  })
  const headers = { 'x-service-credential': 'e30' }
  await (await fetch(`http://127.0.0.1:${port}/api/protected/action`, { method: 'POST', headers })).text()
  await answered
  const kept = await keepShapes()
  for (const [name, object] of Object.entries(used))
    expect(kept.filter((each) => haveSameShape(each, object)).length, name).toBe(1)
  expect(Object.keys(used)).toEqual(['message', 'response', 'request'])
  expect(kept.some((each) => haveSameShape(each, new URL('http://a.example')))).toBe(false)
  await app.close()
})

test('they are made once', async () => {
  const kept = await keepShapes()
  expect(await keepShapes()).toBe(kept)
  expect(kept.length).toBeGreaterThan(8)
})
