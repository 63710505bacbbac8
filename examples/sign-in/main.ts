import { readFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { createClient } from '@countersign/sdk'
import { createExample } from './app.ts'

/**
 * Runs the example beside `npm start`: it takes the site and its key from `data/dev.json` and registers its own return URL there. Another service is
 * named by COUNTERSIGN_URL, COUNTERSIGN_SITE and COUNTERSIGN_API_KEY, with the return URL registered by hand.
 */
const port = Number(process.env.PORT ?? 3000)
const origin = `http://localhost:${port}`
const { COUNTERSIGN_URL: url, COUNTERSIGN_SITE: site, COUNTERSIGN_API_KEY: key } = process.env

const place = url && site && key ? { baseUrl: url, siteId: site, apiKey: key } : await developmentSite()
const server = createExample({ ...place, origin, scope: ['orders:read'] })
server.listen(port, 'localhost', () => {
  console.log(`${place.siteId} is at http://localhost:${(server.address() as AddressInfo).port}/`)
})

async function developmentSite() {
  const dev = JSON.parse(readFileSync('data/dev.json', 'utf8')) as { base_url: string; site_id: string; site_key: string; user_ref: string }
  const client = createClient({ baseUrl: dev.base_url, apiKey: dev.site_key })
  const { return_urls: known } = await client.readSite({ site_id: dev.site_id })
  const own = `${origin}/callback`
  if (!known.includes(own)) await client.changeSite({ site_id: dev.site_id, return_urls: [...known, own] })
  const offer = await client.createOffer({ site_id: dev.site_id, user_ref: dev.user_ref, scope: ['orders:read', 'orders:write'] })
  console.log(`Get a credential first, in the same browser: ${offer.offer_url}`)
  return { baseUrl: dev.base_url, siteId: dev.site_id, apiKey: dev.site_key }
}
