import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { DemoVerifiers } from '../../src/development/demo-verifiers.ts'
import { newFile, removeFiles } from '../store/store-writer.ts'
import {
  addPerson,
  type ConsoleNode,
  openConsoleNode,
  outcome,
  SAME_ORIGIN,
  SHOP,
  signIn,
} from './console-node.ts'

const PATH = '/console/demo-verifiers'
const POST = { method: 'POST' } as const
afterAll(removeFiles)

const newPlace = () => ({ place: { kind: 'sqlite', file: newFile() } }) as const

describe('POST /console/demo-verifiers', () => {
  let node: ConsoleNode
  const closed: string[] = []
  const demoVerifiers = new DemoVerifiers(async (verifierId) => ({
    verifierId,
    url: 'http://127.0.0.1:41001/orders',
    close: async () => void closed.push(verifierId),
  }))
  beforeAll(async () => {
    node = await openConsoleNode(newPlace(), {}, { demoVerifiers })
  })
  afterAll(() => node.close())

  it('404 where the service was not started for development, also for an operator', async () => {
    const production = await openConsoleNode(newPlace())
    const { ask } = await signIn(
      production,
      await addPerson(production, [{ siteId: null, role: 'operator' }]),
    )
    expect(outcome(await ask(PATH, POST))).toEqual([404, 'not_found'])
    expect((await ask('/console/session')).json()).toMatchObject({ has_demo_verifiers: false })
    await production.close()
  })

  it('401 without a session, and 403 from another page and without the role operator', async () => {
    expect(outcome(await node.send(PATH, { ...POST, headers: SAME_ORIGIN }))).toEqual([
      401,
      'session_required',
    ])
    const admin = await signIn(node, await addPerson(node, [{ siteId: SHOP, role: 'admin' }]))
    expect(outcome(await admin.ask(PATH, POST))).toEqual([403, 'role_insufficient'])
    const other = { ...POST, headers: { 'sec-fetch-site': 'cross-site' } }
    expect(outcome(await admin.ask(PATH, other))).toEqual([403, 'csrf_invalid'])
  })

  it('201 with the verifier, 429 when there are enough, and all of them end with the service', async () => {
    const { ask } = await signIn(node, await addPerson(node, [{ siteId: null, role: 'operator' }]))
    expect((await ask('/console/session')).json()).toMatchObject({ has_demo_verifiers: true })
    const first = await ask(PATH, POST)
    expect(first.statusCode).toBe(201)
    expect(first.json()).toEqual({ verifier_id: 'demo-orders', url: 'http://127.0.0.1:41001/orders' })
    for (let i = 0; i < 5; i++) expect((await ask(PATH, POST)).statusCode).toBe(201)
    expect(outcome(await ask(PATH, POST))).toEqual([429, 'rate_limited'])
    await demoVerifiers.close()
    expect(closed).toHaveLength(6)
  })

  it('can be started again when the start of one has failed', async () => {
    let tries = 0
    const faulty = new DemoVerifiers(async (verifierId) => {
      if (++tries === 1) throw new Error('not ready')
      return { verifierId, url: '', close: async () => {} }
    })
    await expect(faulty.start()).rejects.toThrow('not ready')
    expect((await faulty.start()).verifierId).toBe('demo-orders')
    await faulty.close()
  })
})
