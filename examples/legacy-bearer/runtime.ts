import { readFileSync } from 'node:fs'
import { agentFetch, importPrivateKey } from '@countersign/sdk'

const dev = JSON.parse(readFileSync(process.env.COUNTERSIGN_DEV ?? 'data/dev.json', 'utf8'))
const target = process.argv[2] ?? `${dev.base_url}/api/protected/action`

// With `exchange` the credential goes to the service alone; the route gets a bearer token that
// lives for a minute.
const fetch = agentFetch({
  credential: dev.bound.credential,
  holderKey: await importPrivateKey(dev.bound.holder_private_jwk),
  origins: new URL(target).origin,
  exchange: { baseUrl: dev.base_url, scope: ['orders:read'], ttlSeconds: 60 },
})

for (let i = 1; i <= 3; i++) {
  const response = await fetch(target, { method: 'POST' })
  const { presented, subject } = (await response.json()) as {
    presented: string
    subject: { scope: string[] }
  }
  console.log(`request ${i}: ${response.status}, presented as ${presented}, scope ${subject.scope}`)
}
