import type { SiteId } from '@countersign/core'
import { rateLimits } from '@countersign/core/contract'
import { expect, test } from 'vitest'
import { createRateLimiter } from '../../src/http/rate-limiter.ts'
import { type AdminNode, newSiteId, openAdminNode } from '../admin-node.ts'
import { newPpid } from '../party.ts'
import { forEachSharedStore } from '../stores.ts'
import { connectSignals, goodToken, IDP, newSender, newSigner, send, trustIdp } from './test-sender.ts'

forEachSharedStore('limits of signals', (open) => {
  test('a sender of one site does not delay those of others, nor revocations (A293)', async () => {
    const [A, B] = [newSiteId(), newSiteId()]
    const node: AdminNode = await openAdminNode(open(), A)
    connectSignals(node)
    const signer = await newSigner()
    for (const site of [A, B]) {
      await node.admin('create_site', { body: { site_id: site } })
      await trustIdp(node, site, { keys: [signer], signals: [newSender('events')] })
    }
    const limits = { ...rateLimits, signal: { ...rateLimits.signal, requests: 3 } }
    Object.assign(node.deps, { rateLimiter: createRateLimiter(limits) })
    const receive = async (site: SiteId, by = signer) => {
      const { claims, header } = goodToken('events', site)
      return send(node, 'events', site, await by.sign(claims, { ...header, kid: signer.kid }))
    }
    // Signals that the sender has not signed use up nothing of its allowance.
    const outsider = await newSigner()
    for (let i = 0; i < 5; i++) expect((await receive(A, outsider)).code).toBe('signal_invalid')
    for (let i = 0; i < 3; i++) expect((await receive(A)).status).toBe(202)
    expect((await receive(A)).code).toBe('rate_limited')
    expect((await receive(B)).status).toBe(202)
    expect((await node.revokeUser(newPpid(), { siteId: A })).status).toBe(200)
  })

  test('a user who was signed out by a signal gets no further with a token, but with a new one (A290)', async () => {
    const A = newSiteId()
    const node = await openAdminNode(open(), A)
    await node.admin('create_site', { body: { site_id: A } })
    connectSignals(node)
    const signer = await newSigner()
    await trustIdp(node, A, { keys: [signer], signals: [newSender('backchannel_logout')] })
    const newToken = () => {
      const iat = Math.floor(node.clock.wallMs / 1000)
      const token = { iss: IDP, sub: 'alice', aud: 'https://api.shop.example', iat, exp: iat + 600 }
      return signer.sign({ ...token, scope: 'orders:read' }, { typ: 'at+jwt' })
    }
    const first = await newToken()
    expect((await node.bearer(first)).status).toBe(200)
    const { claims, header } = goodToken('backchannel_logout', A)
    const logout = await signer.sign(claims, header)
    expect((await send(node, 'backchannel_logout', A, logout)).status).toBe(200)
    expect((await node.bearer(first)).code).toBe('token_invalid')
    await node.later(2000)
    expect((await node.bearer(await newToken())).status).toBe(200)
    // Neither token is accepted in place of the other (A284).
    expect((await node.bearer(logout)).code).toBe('token_invalid')
    expect((await send(node, 'backchannel_logout', A, await newToken())).code).toBe('signal_invalid')
  })
})
