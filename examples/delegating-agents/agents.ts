import { readFileSync } from 'node:fs'
import {
  agentFetch,
  createClient,
  didKey,
  generatePrivateKey,
  importPrivateKey,
  readDenial,
} from '@countersign/sdk'

const dev = JSON.parse(readFileSync(process.env.COUNTERSIGN_DEV ?? 'data/dev.json', 'utf8'))
const origins = dev.base_url
const action = `${dev.base_url}/api/protected/action`
const tell = async (who: string, response: Response) => {
  const denial = await readDenial(response)
  console.log(`${who}: ${denial === undefined ? 'accepted' : `${denial.code}, needs ${denial.needs}`}`)
}

// The planner has a credential for reading and writing orders.
const planner = agentFetch({
  credential: dev.bound.credential,
  holderKey: await importPrivateKey(dev.bound.holder_private_jwk),
  origins,
})
await tell('planner', await planner(action, { method: 'POST' }))

// The reader makes a key of its own and shows the public half of it. It gets an hour, and reading
// only.
const readerKey = await generatePrivateKey('Ed25519')
const handedOn = await planner.delegate({
  scope: ['orders:read'],
  ttlSeconds: 3600,
  holderKey: didKey(readerKey.publicKey),
  delegable: true,
})
const reader = agentFetch({ credential: handedOn.credential, holderKey: readerKey, origins })
await tell('reader', await reader(action, { method: 'POST' }))

// A holder cannot delegate more than it has, and the library does not even try.
await reader
  .delegate({ scope: ['orders:write'], ttlSeconds: 60, holderKey: readerKey })
  .catch((error) => console.log(`reader: ${error.message}`))

// A clerk of the reader, for five minutes, in the same process.
const clerk = await reader.delegate({
  scope: ['orders:read'],
  ttlSeconds: 300,
  holderKey: await generatePrivateKey('Ed25519'),
})
await tell('clerk', await clerk.fetch(action, { method: 'POST' }))

// Taking the reader's credential away takes the clerk's away too, and leaves the planner alone.
const client = createClient({ baseUrl: dev.base_url, apiKey: dev.site_key })
await client.revokeCredential({
  credential_id: reader.credentialId,
  site_id: dev.site_id,
  reason: 'done with it',
})
await tell('clerk after the reader was revoked', await clerk.fetch(action, { method: 'POST' }))
await tell('planner after the reader was revoked', await planner(action, { method: 'POST' }))
