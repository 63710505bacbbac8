import { readFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { createClient } from '@countersign/sdk'
import { openExample } from './app.ts'

/**
 * Registers its own return URL at the development site, and makes a claim link with which a visitor
 * can sign in.
 */
const dev = JSON.parse(readFileSync(process.env.COUNTERSIGN_DEV ?? 'data/dev.json', 'utf8'))
const client = createClient({ baseUrl: dev.base_url, apiKey: dev.site_key })
const site = { site_id: dev.site_id }
// A user of its own, so that the other examples still work when it is revoked.
const user_ref = 'shopper'
const port = Number(process.env.PORT ?? 3000) || (await freePort())
const origin = `http://localhost:${port}`

const { return_urls: known } = await client.readSite(site)
const returnUrls = new Set([...known, `${origin}/callback`])
const look = { accent: '#1d4f91', support_url: 'mailto:help@blue-door.example' }
await client.changeSite({ ...site, name: 'Blue Door Chandlery', return_urls: [...returnUrls], ...look })
// Without effect unless an earlier run of this example revoked the user.
await client.reinstateUser({ ...site, user_ref, reason: 'example started again' })
const { offer_url } = await client.createOffer({
  ...site,
  user_ref,
  scope: ['orders:read', 'orders:write'],
})

const options = {
  baseUrl: dev.base_url,
  siteId: dev.site_id,
  apiKey: dev.site_key,
  origin,
  scope: ['orders:read'],
}
const example = await openExample(options)
example.listen(port, 'localhost', async () => {
  // The service fetches the logo from here. From this machine it does so in development only.
  await client.changeSite({ ...site, logo_url: `${origin}/logo.png` })
  console.log(`first, in your browser, get a credential: ${offer_url}`)
  console.log(`listening on ${origin}`)
})

/**
 * The return URL must be registered before the first visitor comes, so the port has to be known
 * before it is listened on.
 */
function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, 'localhost', () => {
      const { port: free } = server.address() as AddressInfo
      server.close(() => resolve(free))
    })
  })
}
