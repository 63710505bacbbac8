import { expect, it } from 'vitest'
import { ClockDouble } from '../../../log/log-double.ts'
import { begin as beginAt, keyOf, NOWHERE, openNode, operator } from '../../../node.ts'
import { NOW, newPpid } from '../../../party.ts'
import { forEachSharedStore } from '../../../stores.ts'

forEachSharedStore('POST /api/wallet/reinstate-user', (open) => {
  const begin = () => beginAt(open())

  it('lets newer credentials count; older ones and their tokens never again', async () => {
    const { node, store, A, issued } = await begin()
    const ppid = newPpid()
    const old = await issued({ ppid })
    const token = await node.tokenFor(old.document)
    const unseen = await issued({ ppid })
    await node.revokeUser(ppid)
    node.clock.pass(300)
    const { body } = await node.reinstate(ppid)
    expect(body).toEqual({
      success: true,
      ppid,
      site_id: A,
      reinstated_at: '2026-11-14T12:00:01Z',
      already_active: false,
      entries: [{ ppid, seq: 4, already_active: false }],
      epoch: store.epoch,
      seq: 4,
    })
    await node.later(5000)
    const nowMs = node.clock.wallMs
    const fresh = await issued({ ppid, nowMs, createdMs: nowMs })
    expect((await node.context(fresh.header)).status).toBe(200)
    for (const { header } of [old, unseen])
      expect((await node.context(header)).code).toBe('credential_revoked')
    expect((await node.bearer(token)).code).toBe('token_invalid')
    expect((await node.introspect(token)).body).toEqual({ active: false })
    await node.revokeUser(ppid)
    expect((await node.context(fresh.header)).code).toBe('credential_revoked')
  })

  it('by a node whose clock is behind brings back nothing that was signed before the revocation (I-6)', async () => {
    const { node, store, A, issued } = await begin()
    const clock = new ClockDouble()
    clock.wallMs = NOW - 5000
    const slow = await openNode(store, A, { clock })
    const ppid = newPpid()
    const unseen = await issued({ ppid, createdMs: NOW - 1000 })
    await node.revokeUser(ppid)
    const { body } = await slow.reinstate(ppid)
    expect([body.already_active, body.reinstated_at]).toEqual([false, '2026-11-14T12:00:00Z'])
    await node.later(5000)
    expect((await node.context(unseen.header)).code).toBe('credential_revoked')
    const nowMs = node.clock.wallMs
    expect((await node.context((await issued({ ppid, nowMs, createdMs: nowMs })).header)).status).toBe(200)
  })

  it('works after the time has been reset from one that lay far ahead', async () => {
    const { node, store, A, issued } = await begin()
    const ahead = new ClockDouble()
    ahead.wallMs = NOW + 864_000_000
    const wrong = await openNode(store, A, { clock: ahead })
    const ppid = newPpid()
    await wrong.revokeUser(ppid)
    expect((await node.reinstate(ppid)).body.reinstated_at).toBe('2026-11-14T12:00:00Z')
    await node.later(1000)
    const nowMs = node.clock.wallMs
    expect((await node.context((await issued({ ppid, nowMs, createdMs: nowMs })).header)).status).toBe(200)
  })

  it('of a user who is not revoked writes nothing', async () => {
    const { node, store } = await begin()
    const position = await store.logPosition()
    expect((await node.reinstate(newPpid())).body.already_active).toBe(true)
    expect(await store.logPosition()).toBe(position)
  })

  it('is for the site’s own keys and the operator', async () => {
    const { node, A, B } = await begin()
    const ppid = newPpid()
    expect((await node.reinstate(ppid, { caller: keyOf(B) })).code).toBe('revocation_forbidden')
    expect((await node.reinstate(ppid, { caller: keyOf(A), siteId: NOWHERE })).code).toBe(
      'revocation_forbidden',
    )
    expect((await node.reinstate(ppid, { caller: operator, siteId: NOWHERE })).code).toBe('site_unknown')
    expect((await node.reinstate(ppid, { caller: operator })).status).toBe(200)
  })
})
