import { endpointList, examples, isConsoleEndpoint, stepUp } from '@countersign/core/contract'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createApiKey } from '../../src/actions/api-keys.ts'
import { forEachStoreWriter } from '../store/store-writer.ts'
import { addPerson, type ConsoleNode, openConsoleNode, outcome, SHOP, signIn } from './console-node.ts'

/** Grants access, or affects many: what an ended caller must not do even once. */
const granting = endpointList.filter(({ id }) => isConsoleEndpoint(id) && stepUp[id])

const toPath = (path: string) =>
  path.replaceAll(/\{(\w+)\}/g, (_, name) =>
    name === 'site_id' ? SHOP : name === 'issuer' ? 'did%3Aweb%3Aissuer.example' : 'x',
  )

/** Another node ends the access in the store. This one has it in its cache for a second. */
forEachStoreWriter('callers whose access another node has ended', (newWriter) => {
  let node: ConsoleNode
  beforeAll(async () => {
    node = await openConsoleNode(await newWriter(), { COUNTERSIGN_RATE_LIMIT_WRONG_KEY: '10000/10' })
  })
  afterAll(() => node.close())

  const context = () => ({
    actor: 'operator',
    atMs: node.service.deps.clock.nowMs(),
    requestId: undefined,
  })
  const toRequest = ({ id, method, request }: (typeof granting)[number]) => {
    const body = examples.bodies[id]
    return { method, ...(request.body && body !== undefined && { body }) }
  }
  const newPerson = async () => {
    const browser = await signIn(node, await addPerson(node, [{ siteId: null, role: 'operator' }]))
    expect((await browser.ask('/console/session')).statusCode).toBe(200)
    return browser
  }

  it('A303: a person who was ended grants nothing, not even in the first second', {
    tags: 'long',
  }, async () => {
    for (const endpoint of granting) {
      const { id, auth, path } = endpoint
      const { ask, personId } = await newPerson()
      await node.service.deps.store.changePerson(personId, { status: 'ended' }, 1000, undefined, context())
      const answer = await ask(
        `/console${toPath(path)}`,
        toRequest(endpoint),
        auth === 'operator_key' ? 'all' : SHOP,
      )
      expect([id, ...outcome(answer)]).toEqual([id, 401, 'session_required'])
    }
  })

  it('A148: an API key that was deleted grants nothing, not even in the first second', async () => {
    const { deps } = node.service
    const order = { siteId: null, permissions: [], label: undefined, expiresInSeconds: undefined }
    for (const endpoint of granting) {
      const { key, secret } = await createApiKey(deps, order, context())
      const headers = { 'x-api-key': secret }
      expect((await node.send('/api/people', { headers })).statusCode).toBe(200)
      await deps.store.deleteApiKey(null, key.keyId, context())
      const answer = await node.send(toPath(endpoint.path), { ...toRequest(endpoint), headers })
      expect([endpoint.id, ...outcome(answer)]).toEqual([endpoint.id, 401, 'api_key_invalid'])
    }
  })

  it('A303: a session that was ended adds no passkey', async () => {
    const { ask, personId, sessionId } = await newPerson()
    await node.service.deps.store.endConsoleSession(personId, sessionId, context())
    const answer = await ask('/console/passkeys/challenge', { method: 'POST' })
    expect(outcome(answer)).toEqual([401, 'session_required'])
  })
})
