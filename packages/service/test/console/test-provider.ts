import { createHash, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { newSigner, type TestSigner } from '../signals/test-sender.ts'

type Members = Readonly<Record<string, unknown>>

/** What the provider says at its token endpoint. A test changes one thing of it. */
interface Said {
  /** Claims of the value undefined are left out. */
  claims?: Members
  header?: Members
  signer?: TestSigner
  /** The whole ID token. */
  idToken?: string
  /** Answers in place of the token endpoint. */
  answer?: (response: ServerResponse) => void
}

/** An identity provider at a port of this machine, which can say anything. */
export interface TestProvider {
  readonly issuer: string
  readonly signer: TestSigner
  /** Requests to the token endpoint. */
  readonly redeemed: { readonly form: URLSearchParams; readonly authorization: string | undefined }[]
  /** Members of the metadata in place of the true ones. */
  metadata: Members
  said: Said
  /** Visits the address that the console sends a browser to; returns the way back. */
  authorize(location: string): { readonly query: URLSearchParams; readonly callback: string }
  logoutToken(claims?: Members, header?: Members, signer?: TestSigner): Promise<string>
  close(): Promise<void>
}

export const CLIENT_ID = 'console-client'
export const CLIENT_SECRET = 'a-secret-of-the-client'
const LOGOUT = 'http://schemas.openid.net/event/backchannel-logout'
const seconds = () => Math.floor(Date.now() / 1000)

export async function startTestProvider(): Promise<TestProvider> {
  const signer = await newSigner('ES256', 'provider-key')
  /** By code: what the browser was sent to the provider with. */
  const asked = new Map<string, URLSearchParams>()
  const server = createServer((request, response) => void answer(request, response))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const json = (response: ServerResponse, status: number, body: unknown) =>
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))

  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    if (request.url === '/.well-known/openid-configuration')
      return json(response, 200, {
        issuer,
        authorization_endpoint: `${issuer}/authorize`,
        token_endpoint: `${issuer}/token`,
        jwks_uri: `${issuer}/jwks`,
        id_token_signing_alg_values_supported: ['ES256', 'RS256', 'HS256', 'none'],
        authorization_response_iss_parameter_supported: true,
        ...provider.metadata,
      })
    if (request.url === '/jwks') return json(response, 200, { keys: [signer.jwk] })
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const form = new URLSearchParams(Buffer.concat(chunks).toString())
    provider.redeemed.push({ form, authorization: request.headers.authorization })
    if (provider.said.answer) return provider.said.answer(response)
    const query = asked.get(form.get('code') ?? '')
    const verifier = form.get('code_verifier') ?? ''
    const isSame =
      createHash('sha256').update(verifier).digest('base64url') === query?.get('code_challenge') &&
      form.get('redirect_uri') === query?.get('redirect_uri')
    if (query === undefined || !isSame) return json(response, 400, { error: 'invalid_grant' })
    const claims = {
      iss: issuer,
      aud: CLIENT_ID,
      sub: 'ada',
      iat: seconds(),
      exp: seconds() + 300,
      nonce: query.get('nonce'),
      name: 'Ada Lovelace',
      groups: ['ops'],
      ...provider.said.claims,
    }
    const { idToken, header, signer: other = signer } = provider.said
    const id_token = idToken ?? (await other.sign(claims, header))
    json(response, 200, { access_token: 'at', token_type: 'Bearer', id_token })
  }

  const provider: TestProvider = {
    issuer,
    signer,
    redeemed: [],
    metadata: {},
    said: {},
    authorize(location) {
      const { origin, searchParams } = new URL(location)
      if (origin !== issuer) throw new Error(`the console sends the browser to ${origin}`)
      const code = randomUUID()
      asked.set(code, searchParams)
      const back = new URLSearchParams({ code, state: searchParams.get('state') ?? '', iss: issuer })
      return { query: searchParams, callback: `/console/oidc/callback?${back}&session_state=x` }
    },
    logoutToken: (claims, header, by = signer) =>
      by.sign(
        {
          iss: issuer,
          aud: CLIENT_ID,
          iat: seconds(),
          exp: seconds() + 120,
          jti: randomUUID(),
          sub: 'ada',
          events: { [LOGOUT]: {} },
          ...claims,
        },
        { typ: 'logout+jwt', ...header },
      ),
    async close() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
  return provider
}
