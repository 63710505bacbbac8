import {
  Client,
  DpopSession,
  type OAuthClientProvider,
  type OAuthDiscoveryState,
  type StoredOAuthTokens,
  StreamableHTTPClientTransport,
  UnauthorizedError,
} from '@modelcontextprotocol/client'
import { UnauthorizedError as OldUnauthorizedError } from '@modelcontextprotocol/sdk/client/auth.js'
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as OldTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { BrowserUser } from './browser-user.ts'
import { CLIENT_ID } from './provider-process.ts'

/**
 * An agent with the client of the MCP SDK, which finds the authorization server, sends the user
 * there and presents the token by itself.
 */
export interface McpAgent {
  /** How often the user was sent to the provider. */
  readonly signIns: number
  /** The text of the tool's answer. If the client asks for it, the user signs in, once. */
  call(tool: string): Promise<string>
  /** The same, but without a user who could sign in. */
  callWithoutUser(tool: string): Promise<string>
  close(): Promise<void>
}

export interface McpAgentOptions {
  /** Ask for tokens that are bound to a key. */
  readonly dpop?: boolean
  /** The version of the MCP SDK. Default 2. */
  readonly sdk?: 1 | 2
}

export async function createMcpAgent(
  url: string,
  user: BrowserUser,
  { dpop = false, sdk = 2 }: McpAgentOptions = {},
): Promise<McpAgent> {
  const redirectUrl = 'http://127.0.0.1/callback'
  const session = dpop ? await DpopSession.create() : undefined
  let signIns = 0
  let tokens: StoredOAuthTokens | undefined
  let verifier = ''
  let discovered: OAuthDiscoveryState | undefined
  let authorizationUrl: URL | undefined
  const authProvider: OAuthClientProvider = {
    redirectUrl,
    clientMetadata: { redirect_uris: [redirectUrl] },
    clientInformation: () => ({ client_id: CLIENT_ID }),
    tokens: () => tokens,
    saveTokens: (saved) => {
      tokens = saved
    },
    redirectToAuthorization: (to) => {
      authorizationUrl = to
    },
    saveCodeVerifier: (saved) => {
      verifier = saved
    },
    codeVerifier: () => verifier,
    discoveryState: () => discovered,
    saveDiscoveryState: (saved) => {
      discovered = saved
    },
    ...(session && { dpop: () => session }),
  }
  let client: Pick<Client, 'callTool' | 'close'> | undefined
  const about = { name: 'agent', version: '1.0.0' }
  const connect = async (): Promise<Pick<Client, 'callTool' | 'close'>> => {
    if (sdk === 1) {
      const connecting = new OldClient(about)
      await connecting.connect(new OldTransport(new URL(url), { authProvider } as never) as never)
      return connecting as never
    }
    const connecting = new Client(about)
    await connecting.connect(new StreamableHTTPClientTransport(new URL(url), { authProvider }))
    return connecting
  }
  const finish = (parameters: URLSearchParams) =>
    sdk === 1
      ? new OldTransport(new URL(url), { authProvider } as never).finishAuth(parameters.get('code') ?? '')
      : new StreamableHTTPClientTransport(new URL(url), { authProvider }).finishAuth(parameters)
  const callWithoutUser = async (name: string): Promise<string> => {
    client ??= await connect()
    const { content } = await client.callTool({ name, arguments: {} })
    return (content as readonly { readonly text: string }[])[0]?.text ?? ''
  }
  return {
    get signIns() {
      return signIns
    },
    async call(name) {
      try {
        return await callWithoutUser(name)
      } catch (error) {
        const isUnauthorized = error instanceof UnauthorizedError || error instanceof OldUnauthorizedError
        if (!isUnauthorized || authorizationUrl === undefined) throw error
      }
      const { searchParams } = await user.authorize(authorizationUrl)
      signIns++
      await finish(searchParams)
      return callWithoutUser(name)
    },
    callWithoutUser,
    close: async () => client?.close(),
  }
}
