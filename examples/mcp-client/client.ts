import { readFileSync } from 'node:fs'
import { agentFetch, importPrivateKey } from '@countersign/sdk'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'

const dev = JSON.parse(readFileSync(process.env.COUNTERSIGN_DEV ?? 'data/dev.json', 'utf8'))
const url = new URL(process.argv[2] ?? 'http://127.0.0.1:3004/mcp')

// Signs each request with the key that the credential is bound to. A copy of the credential is
// useless without that key.
const fetch = agentFetch({
  credential: dev.bound.credential,
  holderKey: await importPrivateKey(dev.bound.holder_private_jwk),
  origins: url.origin,
})

const client = new Client({ name: 'agent', version: '1.0.0' })
await client.connect(new StreamableHTTPClientTransport(url, { fetch }))
for (const call of [
  { name: 'place_order', arguments: { item: 'coffee' } },
  { name: 'list_orders', arguments: {} },
]) {
  const { content } = await client.callTool(call)
  console.log(`${call.name}: ${(content as { text: string }[])[0]?.text}`)
}
await client.close()
