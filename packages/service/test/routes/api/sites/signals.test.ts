import {
  deriveSessionId,
  deriveSubjectPpid,
  deriveUserRefPpid,
  type Ppid,
  type SiteId,
} from '@countersign/core'
import type { SignalSender, SignalType } from '@countersign/core/contract'
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { StoreUnavailable } from '../../../../src/store/errors.ts'
import { AUDIT_REJECTED } from '../../../../src/store/operations/shared/record-audit.ts'
import { type AdminNode, newSiteId, openAdminNode } from '../../../admin-node.ts'
import { NOW } from '../../../party.ts'
import {
  ACCOUNT_DISABLED,
  ACCOUNT_ENABLED,
  ACCOUNT_PURGED,
  CLIENT,
  connectSignals,
  goodToken,
  IDP,
  newSender,
  newSigner,
  SESSIONS_REVOKED,
  type SignedToken,
  send,
  type TestSigner,
  trustIdp,
  VERIFICATION,
} from '../../../signals/test-sender.ts'
import { forEachSharedStore } from '../../../stores.ts'

const EMAIL = 'alice@shop.example'
const AT = Math.floor(NOW / 1000)
const TYPES = ['backchannel_logout', 'token_revocation', 'events'] as const
const SUCCESS = { backchannel_logout: 200, token_revocation: 204, events: 202 }

forEachSharedStore('signals', (open) => {
  let A: SiteId
  let node: AdminNode
  let signer: TestSigner
  let outsider: TestSigner
  beforeAll(async () => {
    ;[signer, outsider] = [await newSigner(), await newSigner('ES256')]
  })
  beforeEach(async () => {
    A = newSiteId()
    node = await openAdminNode(open(), A)
    await node.admin('create_site', { body: { site_id: A } })
    connectSignals(node)
    await trustIdp(node, A, { keys: [signer], signals: TYPES.map((type) => newSender(type)) })
  })
  const register = (changes: Partial<SignalSender>, types: readonly SignalType[] = TYPES) =>
    trustIdp(node, A, { signals: types.map((type) => newSender(type, changes)) })
  const sign = (type: SignalType, changes: SignedToken = {}, by = signer) => {
    const { claims, header } = goodToken(type, A, changes)
    return by.sign(claims, header)
  }
  const receive = async (type: SignalType, changes: SignedToken = {}, by = signer) =>
    send(node, type, A, await sign(type, changes, by))
  const view = () => {
    const found = node.deps.views.view(A)
    if (found === undefined) throw new Error('the node has no view of the site')
    return found
  }
  const key = () => view().subjectKey as Uint8Array
  const alice = () => deriveSubjectPpid(key(), IDP, 'alice')
  /** Whether a token issued then is revoked. */
  const isRevoked = (ppid: Ppid, issuedMs: number) => view().userRevocation(ppid, issuedMs) !== undefined
  const audit = async () => (await node.admin('list_audit', { params: { site_id: A } })).body.items
  const issue = async (userRef: string) => {
    const body = { site_id: A, user_ref: userRef, scope: ['orders:read'] }
    return (await node.admin('issue_credential', { body })).body
  }

  describe('an effect', () => {
    test.each(TYPES)('a %s signs the user out, who can sign in again (A290)', async (type) => {
      const before = view().head.seq
      const answer = await receive(type, { claims: { iat: AT - 1, toe: AT - 1 } })
      expect(answer).toMatchObject({ status: SUCCESS[type], body: undefined })
      expect(view().head.seq).toBe(before + 1)
      expect(isRevoked(await alice(), NOW - 1000)).toBe(true)
      expect(isRevoked(await alice(), NOW + 1000)).toBe(false)
      expect(isRevoked(await deriveSubjectPpid(key(), IDP, 'bob'), NOW - 1000)).toBe(false)
      expect(await audit()).toContainEqual(
        expect.objectContaining({
          action: `signal.${type}`,
          actor: { type: 'sender', id: IDP },
          outcome: 'done',
          seq: before + 1,
        }),
      )
    })

    test('sessions-revoked signs the user out', async () => {
      const answer = await receive('events', { claims: { events: { [SESSIONS_REVOKED]: {} } } })
      expect(answer.status).toBe(202)
      expect(isRevoked(await alice(), NOW)).toBe(true)
      expect(isRevoked(await alice(), NOW + 1000)).toBe(false)
    })

    test.each([ACCOUNT_DISABLED, ACCOUNT_PURGED])('%s revokes the user (A290)', async (event) => {
      expect((await receive('events', { claims: { events: { [event]: {} } } })).status).toBe(202)
      expect(isRevoked(await alice(), NOW + 86_400_000)).toBe(true)
      const seq = view().head.seq
      // Once more, in another signal: nothing is left to do, and no entry is appended.
      expect((await receive('events', { claims: { events: { [event]: {} } } })).status).toBe(202)
      expect(view().head.seq).toBe(seq)
    })

    test('a logout with sid ends the session where session_claim is set', async () => {
      await trustIdp(node, A, { session_claim: 'sid' })
      for (const claims of [{ sid: 's-1', sub: undefined }, { sid: 's-2' }]) {
        expect((await receive('backchannel_logout', { claims })).status).toBe(200)
        const id = await deriveSessionId(key(), IDP, claims.sid)
        expect(view().credentialRevocation(id)).toBeDefined()
      }
      expect(isRevoked(await alice(), NOW - 1000)).toBe(false)
      const { seq } = view().head
      expect((await receive('backchannel_logout', { claims: { sid: 's-1' } })).status).toBe(200)
      expect(view().head.seq).toBe(seq)
    })

    test('a logout with sid and sub signs the user out where no session_claim is set', async () => {
      expect((await receive('backchannel_logout', { claims: { sid: 's-1' } })).status).toBe(200)
      expect(isRevoked(await alice(), NOW - 1000)).toBe(true)
    })

    test('a subject that is the user_ref concerns credentials and tokens', async () => {
      await trustIdp(node, A, { user_ref_from_subject: true, confirm_new_ids: true })
      const { credential, ppid } = await issue('alice')
      expect((await receive('events', { claims: { events: { [ACCOUNT_DISABLED]: {} } } })).status).toBe(202)
      expect(isRevoked(ppid, NOW + 1000)).toBe(true)
      expect(isRevoked(await deriveUserRefPpid(key(), 'alice'), NOW + 1000)).toBe(true)
      expect((await node.show(credential)).code).toBe('credential_revoked')
    })

    test('an email that is the user_ref concerns credentials and tokens', async () => {
      await register({ subject: 'email_is_user_ref' })
      const { ppid } = await issue(EMAIL)
      const token = await sign('token_revocation')
      const answer = await send(node, 'token_revocation', A, token, { format: 'email', email: EMAIL })
      expect(answer.status).toBe(204)
      for (const id of [ppid, await deriveUserRefPpid(key(), EMAIL)]) {
        expect(isRevoked(id, NOW)).toBe(true)
        expect(isRevoked(id, NOW + 1000)).toBe(false)
      }
    })

    test.each([VERIFICATION, ACCOUNT_ENABLED, 'https://example.com/event'])(
      '%s is recorded, and grants nothing (A294)',
      async (event) => {
        await receive('events', { claims: { events: { [ACCOUNT_DISABLED]: {} } } })
        const { seq } = view().head
        const answer = await receive('events', { claims: { events: { [event]: { state: 'x' } } } })
        expect(answer.status).toBe(202)
        expect(view().head.seq).toBe(seq)
        expect(isRevoked(await alice(), NOW + 1000)).toBe(true)
        expect(await audit()).toContainEqual(
          expect.objectContaining({
            action: 'signal.events',
            outcome: 'unchanged',
            reason: event,
            seq: null,
          }),
        )
      },
    )
  })

  describe('is rejected', () => {
    /** With its code, and without any entry. */
    const rejects = async (type: SignalType, changes: SignedToken, code: string, by = signer) => {
      const { seq } = view().head
      const answer = await receive(type, changes, by)
      expect(answer.code).toBe(code)
      expect(view().head.seq).toBe(seq)
      return answer
    }
    const invalid = (type: SignalType) => (type === 'token_revocation' ? 'token_invalid' : 'signal_invalid')

    test.each(TYPES)('a %s of a key of another issuer (A291, A292)', async (type) => {
      await rejects(type, {}, invalid(type), outsider)
      await rejects(type, { header: { kid: signer.kid } }, invalid(type), outsider)
    })

    test.each(TYPES)('a %s of an issuer that may not signal (A292)', async (type) => {
      await rejects(type, { claims: { iss: 'https://else.example' } }, invalid(type))
      for (const iss of [`${IDP}/`, IDP.toUpperCase()])
        await rejects(type, { claims: { iss } }, invalid(type))
      await register(
        {},
        TYPES.filter((each) => each !== type),
      )
      await rejects(type, {}, invalid(type))
    })

    test.each(TYPES)('a %s for another audience (A292)', async (type) => {
      for (const aud of ['else', [], [7], undefined, { [CLIENT]: true }, `${A}/signals/logout`])
        await rejects(type, { claims: { aud } }, invalid(type))
      const own = goodToken(type, A).claims.aud
      expect((await receive(type, { claims: { aud: ['else', own] } })).status).toBe(SUCCESS[type])
    })

    test.each(TYPES)('a %s of an issuer that the site does not trust any more', async (type) => {
      await trustIdp(node, A, { status: 'distrusted' })
      await rejects(type, {}, invalid(type))
    })

    test('each token in place of another (A284)', async () => {
      for (const type of TYPES)
        for (const other of TYPES) {
          if (type === other) continue
          const answer = await send(node, type, A, await sign(other))
          expect([type, other, answer.code]).toEqual([type, other, invalid(type)])
        }
      const { claims } = goodToken('backchannel_logout', A, {
        claims: { events: undefined, scope: 'orders:read' },
      })
      for (const typ of ['at+jwt', 'JWT', undefined])
        for (const type of TYPES)
          expect((await send(node, type, A, await signer.sign(claims, { typ }))).code).toBe(invalid(type))
    })

    test.each(TYPES)('a %s that was changed, or is no JWT', async (type) => {
      const token = await sign(type)
      const [header, , signature] = token.split('.')
      const payload = Buffer.from(JSON.stringify(goodToken(type, A, { claims: { sub: 'bob' } }).claims))
      for (const text of [
        `${header}.${payload.toString('base64url')}.${signature}`,
        `${token}x`,
        token.slice(0, -10),
        'x.y.z',
        'x',
      ])
        expect((await send(node, type, A, text)).code, text).toBe(invalid(type))
    })

    test('a subject of another issuer, or of an unknown format, with an alarm (A291, A292)', async () => {
      for (const sub_id of [
        { format: 'iss_sub', iss: 'https://else.example', sub: 'alice' },
        { format: 'opaque', id: 'alice' },
        { format: 'email', email: EMAIL },
        undefined,
      ])
        await rejects('events', { claims: { sub_id } }, 'signal_subject_unmapped')
      const rows = (await audit()).filter(({ outcome }: { outcome: string }) => outcome === AUDIT_REJECTED)
      expect(rows).toHaveLength(4)
      expect(rows[0]).toMatchObject({ action: 'signal.events', actor: { type: 'sender', id: IDP } })
      expect(node.logged.join('')).toContain('names no user or session')
    })

    test('a subject that cannot be mapped, again and again, leaves one row in the audit', async () => {
      const token = await sign('events', { claims: { sub_id: { format: 'opaque', id: 'alice' } } })
      for (let times = 0; times < 5; times++)
        expect((await send(node, 'events', A, token)).code).toBe('signal_subject_unmapped')
      const rows = (await audit()).filter(({ outcome }: { outcome: string }) => outcome === AUDIT_REJECTED)
      expect(rows).toHaveLength(1)
    })

    test('a logout with sid only where no session_claim is set, with an alarm', async () => {
      await rejects(
        'backchannel_logout',
        { claims: { sid: 's-1', sub: undefined } },
        'signal_subject_unmapped',
      )
      expect(await audit()).toContainEqual(
        expect.objectContaining({ action: 'signal.backchannel_logout', outcome: AUDIT_REJECTED }),
      )
    })

    test('nothing of a sender that is not verified reaches the audit', async () => {
      const before = (await audit()).length
      await rejects('events', { claims: { sub_id: undefined } }, 'signal_invalid', outsider)
      expect((await audit()).length).toBe(before)
    })

    test.each(TYPES)('a %s whose keys cannot be had: the provider tries again', async (type) => {
      await register({ jwks_uri: 'https://idp.example/keys' })
      const { headers, status } = await rejects(type, {}, 'signal_keys_unavailable')
      expect([status, headers['retry-after']]).toEqual([503, '10'])
    })

    test('A293: a signal that waits for the keys of its sender takes no room from others', async () => {
      const { overload } = node.deps.config
      Object.assign(overload, { inFlightMax: 1 })
      const { keys } = node.deps.signals
      let isAsked = false
      let answer = () => {}
      const asked = new Promise<void>((resolve) => {
        answer = resolve
      })
      const check: typeof keys.check = async (...args) => {
        isAsked = true
        await asked
        return keys.check(...args)
      }
      Object.assign(node.deps.signals, { keys: { check } })
      const waiting = receive('events', { claims: { events: { [SESSIONS_REVOKED]: {} } } })
      await expect.poll(() => isAsked).toBe(true)
      expect((await node.ask('protected_action')).code).toBe('credential_missing')
      answer()
      expect((await waiting).status).toBe(202)
      expect(isRevoked(await alice(), NOW)).toBe(true)
    })

    test('a body that is too large, of another type, or without the token', async () => {
      const params = { site_id: A }
      const fields = { 'content-type': 'application/x-www-form-urlencoded' }
      const logout = (text: string) => node.ask('receive_logout', { params, text, fields })
      expect((await logout('other=1')).code).toBe('signal_invalid')
      expect((await logout(`logout_token=${'x'.repeat(8193)}`)).code).toBe('signal_invalid')
      expect((await logout(`logout_token=${'x'.repeat(12_288)}`)).code).toBe('request_too_large')
      expect((await node.ask('receive_event', { params, body: {} })).code).toBe('unsupported_media_type')
      const event = { params, text: 'x'.repeat(8193), fields: { 'content-type': 'application/secevent+jwt' } }
      expect((await node.ask('receive_event', event)).code).toBe('request_too_large')
      const body = { sub_id: { format: 'email', email: EMAIL } }
      expect((await node.ask('receive_token_revocation', { params, body })).code).toBe('token_invalid')
      expect((await node.ask('receive_token_revocation', { params, body: {} })).code).toBe(
        'validation_failed',
      )
    })

    test('a signal to a site that does not exist', async () => {
      expect(
        (await send(node, 'backchannel_logout', newSiteId(), await sign('backchannel_logout'))).code,
      ).toBe('not_found')
    })

    test('as RFC 8935 says, with err and description', async () => {
      const errors: [SignedToken, string][] = [
        [{ claims: { aud: 'else' } }, 'invalid_audience'],
        [{ claims: { iss: 'https://else.example' } }, 'invalid_issuer'],
        [{ claims: { events: {} } }, 'invalid_request'],
        [{ claims: { sub_id: undefined } }, 'invalid_request'],
      ]
      for (const [changes, err] of errors) {
        const { body, status } = await receive('events', changes)
        expect(body).toMatchObject({ err, description: body.detail })
        expect(status).toBe(400)
      }
      expect((await receive('events', {}, outsider)).body.err).toBe('invalid_key')
      expect((await receive('backchannel_logout', {}, outsider)).body).not.toHaveProperty('err')
    })
  })

  describe('a repeated signal', () => {
    test.each(TYPES)('a %s has the first answer and no new entry (A291)', async (type) => {
      const token = await sign(type)
      expect((await send(node, type, A, token)).status).toBe(SUCCESS[type])
      const { seq } = view().head
      node.clock.pass(1000)
      expect((await send(node, type, A, token)).status).toBe(SUCCESS[type])
      expect(view().head.seq).toBe(seq)
    })

    test('does not revoke a user who was reinstated in between', async () => {
      const token = await sign('events', { claims: { events: { [ACCOUNT_DISABLED]: {} } } })
      await send(node, 'events', A, token)
      await node.reinstate(await alice())
      node.clock.pass(1000)
      expect((await send(node, 'events', A, token)).status).toBe(202)
      expect(isRevoked(await alice(), NOW + 60_000)).toBe(false)
    })

    test('another body under a used jti is rejected (A291)', async () => {
      const jti = 'used'
      expect((await receive('backchannel_logout', { claims: { jti } })).status).toBe(200)
      const { seq } = view().head
      expect((await receive('backchannel_logout', { claims: { jti, sub: 'bob' } })).code).toBe(
        'signal_invalid',
      )
      expect((await receive('events', { claims: { jti } })).code).toBe('signal_invalid')
      const token = await sign('token_revocation', { claims: { jti: 'other' } })
      expect((await send(node, 'token_revocation', A, token)).status).toBe(204)
      const bob = { format: 'iss_sub', iss: IDP, sub: 'bob' }
      expect((await send(node, 'token_revocation', A, token, bob)).code).toBe('signal_invalid')
      expect(view().head.seq).toBe(seq + 1)
    })

    test('two nodes with the same jti at the same time append one entry', async () => {
      const second = await openAdminNode(node.deps.store, A)
      connectSignals(second)
      await second.deps.views.waitFor(await node.deps.store.logPosition())
      const { seq } = view().head
      const token = await sign('events')
      const all = [node, second, node, second].map((each) => send(each, 'events', A, token))
      for (const { status } of await Promise.all(all)) expect(status).toBe(202)
      await node.deps.views.waitFor(await node.deps.store.logPosition())
      expect(view().head.seq).toBe(seq + 1)
    })

    test('a signal that was not mapped can be sent again', async () => {
      const token = await sign('backchannel_logout', { claims: { sid: 's-1', sub: undefined } })
      expect((await send(node, 'backchannel_logout', A, token)).code).toBe('signal_subject_unmapped')
      await trustIdp(node, A, { session_claim: 'sid' })
      expect((await send(node, 'backchannel_logout', A, token)).status).toBe(200)
    })

    test('is kept for four weeks, longer than a signal may be old', async () => {
      await receive('backchannel_logout', { claims: { jti: 'kept' } })
      const week = 7 * 86_400_000
      const find = async (atMs: number) => {
        while ((await node.deps.store.purgeExpired(atMs)).hasMore);
        const { state } = await node.deps.store.receiveSignal(
          {
            siteId: A,
            type: 'backchannel_logout',
            issuer: IDP,
            jti: 'kept',
            bodySha256: 'other',
            event: 'x',
            outcome: 'recorded',
            effects: [],
            expiresAtMs: atMs,
          },
          { actor: 'system', atMs, requestId: undefined },
        )
        return state
      }
      expect(await find(NOW + 4 * week - 1)).toBe('other_body')
      expect(await find(NOW + 4 * week)).toBe('received')
    })
  })

  test.each(TYPES)('a %s is 503 while the store is in doubt, and succeeds later', async (type) => {
    const { store } = node.deps
    const token = await sign(type)
    const real = store.receiveSignal
    Object.assign(store, { receiveSignal: () => Promise.reject(new StoreUnavailable('no answer')) })
    expect((await send(node, type, A, token)).code).toBe('store_unavailable')
    Object.assign(store, { receiveSignal: real })
    expect((await send(node, type, A, token)).status).toBe(SUCCESS[type])
  })
})
