import {
  Client,
  DpopSession,
  type OAuthClientProvider,
  type OAuthDiscoveryState,
  type StoredOAuthTokens,
  StreamableHTTPClientTransport,
  UnauthorizedError,
} from '@modelcontextprotocol/client'
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
}

export async function createMcpAgent(
  url: string,
  user: BrowserUser,
  { dpop = false }: McpAgentOptions = {},
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
  let client: Client | undefined
  const newTransport = () => new StreamableHTTPClientTransport(new URL(url), { authProvider })
  const callWithoutUser = async (name: string): Promise<string> => {
    if (client === undefined) {
      const connecting = new Client({ name: 'agent', version: '1.0.0' })
      await connecting.connect(newTransport())
      client = connecting
    }
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
        if (!(error instanceof UnauthorizedError) || authorizationUrl === undefined) throw error
      }
      const { searchParams } = await user.authorize(authorizationUrl)
      signIns++
      await newTransport().finishAuth(searchParams)
      return callWithoutUser(name)
    },
    callWithoutUser,
    close: async () => client?.close(),
  }
}
