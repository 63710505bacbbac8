import { readFileSync } from 'node:fs'
import { createClient } from '@countersign/sdk'

const dev = JSON.parse(readFileSync(process.env.COUNTERSIGN_DEV ?? 'data/dev.json', 'utf8'))
const client = createClient({ baseUrl: dev.base_url, apiKey: dev.site_key })

// Waits until every connected guard has applied it, and says so.
const { propagation } = await client.revokeUser({ ppid: dev.ppid, site_id: dev.site_id }, { waitSeconds: 5 })
console.log(`revoked; ${propagation?.acknowledged} of ${propagation?.connected} guards deny already`)
