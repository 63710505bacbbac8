import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
// @ts-expect-error: it comes without types.
import Provider from 'oidc-provider'
import { KEEP_ALIVE_MS } from './bare.ts'
import type { Ready, Running, ServerOptions } from './server.ts'

const CLIENT = { id: 'bench', secret: 'only-for-the-benchmark' }
const authorization = `Basic ${Buffer.from(`${CLIENT.id}:${CLIENT.secret}`).toString('base64')}`

/**
 * Introspection of an opaque token by `oidc-provider` with its own adapter, which keeps everything
 * in memory and nothing on disk.
 */
export async function serveOidc({ port: wanted }: ServerOptions['oidc']): Promise<Running<Ready<'oidc'>>> {
  console.warn = () => {} // That nothing is kept is why it is here.
  const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS })
  await new Promise<void>((resolve) => server.listen(wanted, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const provider = new Provider(`http://127.0.0.1:${port}`, {
    clients: [
      {
        client_id: CLIENT.id,
        client_secret: CLIENT.secret,
        grant_types: ['client_credentials'],
        redirect_uris: [],
        response_types: [],
      },
    ],
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      introspection: { enabled: true },
    },
    scopes: ['orders:read', 'orders:write'],
  })
  server.on('request', provider.callback())
  const answer = await fetch(`http://127.0.0.1:${port}/token`, {
    method: 'POST',
    headers: { authorization },
    body: new URLSearchParams({ grant_type: 'client_credentials', scope: 'orders:read orders:write' }),
  })
  const { access_token: token } = (await answer.json()) as { access_token?: string }
  if (token === undefined) throw new Error('oidc-provider gave no token')
  return {
    ready: { port, token, authorization },
    async close() {
      server.closeAllConnections()
      server.close()
    },
  }
}
