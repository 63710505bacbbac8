import { afterAll, beforeAll, expect, test } from 'vitest'
import { createBrowserUser } from './browser-user.ts'
import { createMcpAgent, type McpAgent, type McpAgentOptions } from './mcp-agent.ts'
import { type McpApp, startMcpApp } from './mcp-app-process.ts'
import { type ProviderWorld, startProviderWorld } from './provider-world.ts'

// The client and the server of the MCP SDK, unmodified, with `oidc-provider` behind them.

let world: ProviderWorld
let app: McpApp
const agents: McpAgent[] = []
beforeAll(async () => {
  world = await startProviderWorld()
  const { base_url: baseUrl, site_id: siteId, site_key: apiKey } = world.service.dev
  app = await startMcpApp({ baseUrl, siteId, apiKey, authorizationServer: world.provider.issuer })
  await world.trustProvider([app.url])
})
afterAll(async () => {
  await Promise.all(agents.map((agent) => agent.close()))
  await app?.stop()
  await world?.close()
})

let users = 0
const begin = async (options?: McpAgentOptions) => {
  const user = createBrowserUser(`user-${++users}`)
  const agent = await createMcpAgent(app.url, user, options)
  agents.push(agent)
  return { user, agent }
}

test.each([1, 2] as const)(
  'a client of SDK %i.x finds the provider by itself, and the tool knows the user by the name of the provider',
  async (sdk) => {
    const { user, agent } = await begin({ sdk })
    await expect(agent.callWithoutUser('who')).rejects.toThrow()
    expect(await agent.call('who')).toBe(user.name)
    expect(await agent.callWithoutUser('who')).toBe(user.name)
    expect(agent.signIns).toBe(1)
  },
)

test('a client asks for the scope of a tool when it needs it, and keeps what it has', async () => {
  const { user, agent } = await begin()
  expect(await agent.call('who')).toBe(user.name)
  await expect(agent.callWithoutUser('order')).rejects.toThrow()
  expect(await agent.call('order')).toBe('ordered')
  expect(await agent.callWithoutUser('who')).toBe(user.name)
  expect(agent.signIns).toBe(2)
})

test.each([1, 2] as const)(
  'with SDK %i.x a revoked user is denied, a running call ends, and signing in again does not help',
  async (sdk) => {
    const { user, agent } = await begin({ sdk })
    expect(await agent.call('who')).toBe(user.name)
    const watching = agent.callWithoutUser('watch')
    await app.watchBegun()
    const { body } = await world.revokeUser(user)
    expect(body.propagation).toMatchObject({ connected: 1, acknowledged: 1 })
    expect(await watching).toBe('ended: token_invalid')
    await expect(agent.callWithoutUser('who')).rejects.toThrow()
    await expect(agent.call('who')).rejects.toThrow()
    expect(agent.signIns).toBe(2)
  },
)

test('a user who logs out at the provider is denied, a running call ends, and signing in again works', {
  tags: 'long',
}, async () => {
  const { user, agent } = await begin()
  expect(await agent.call('who')).toBe(user.name)
  const watching = agent.callWithoutUser('watch')
  await app.watchBegun()
  await user.signOut(world.provider.issuer)
  expect(await watching).toBe('ended: token_invalid')
  await expect(agent.callWithoutUser('who')).rejects.toThrow()
  // Tokens have times in whole seconds: one of the second of the logout is denied, too.
  await expect.poll(() => agent.call('who'), { interval: 300 }).toBe(user.name)
})

test('a client with DPoP gets a bound token, which is denied with its user', async () => {
  const { user, agent } = await begin({ dpop: true })
  // A guard that keeps nonces in memory rejects the proofs of its first seconds.
  await expect.poll(() => agent.call('who'), { interval: 300 }).toBe(user.name)
  await world.revokeUser(user)
  await expect(agent.callWithoutUser('who')).rejects.toThrow()
})
