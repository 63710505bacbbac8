import postgres from 'postgres'
import { expect, it } from 'vitest'
import { consoleLock } from '../../src/store/operations/shared/console-lock.ts'
import type { Store } from '../../src/store/store.ts'
import { context, DAY, NOW, sha256 } from './fixtures.ts'
import { forEachStoreWriter, type StoreWriter, withStore } from './store-writer.ts'

const ISSUER = 'https://idp.example'
const SUBJECT = 'sub-1'
const SID = 'sid-1'
const at = { atMs: NOW, requestId: undefined }

/** Signs a person in with the identity provider. Returns the step-up and the logout. */
async function signIn(store: Store) {
  const opened = await store.openProviderSession(
    {
      issuer: ISSUER,
      subject: SUBJECT,
      sid: SID,
      issuedAtMs: NOW - 1000,
      name: 'Ada',
      nameOtherwise: 'Ada',
      roles: [{ siteId: null, role: 'operator' }],
      expectedPersonId: undefined,
      newPersonId: 'person_000001',
    },
    {
      session: { sha256: sha256(), sessionId: 'sess_before', expiresAtMs: NOW + DAY, elevatedUntilMs: NOW },
      replaced: undefined,
      sessionsMax: 20,
      peopleMax: 100,
    },
    at,
  )
  if (opened.state !== 'opened') throw new Error(opened.state)
  const { session, person } = opened
  const passkey = { passkeyId: 'passkey_1', credentialId: 'one', personId: person.personId }
  const newChallenge = () => ({ sha256: sha256(), expiresAtMs: NOW + DAY })
  await store.addPasskey(
    { ...passkey, rpId: 'id.example', name: 'key', publicKey: 'AA', counter: 0 },
    newChallenge(),
    10,
    context(),
  )
  const raisedSha256 = sha256()
  const stepUp = () =>
    store.raiseConsoleSession(
      session,
      { passkeyId: passkey.passkeyId, counter: 0, challenge: newChallenge() },
      { sha256: raisedSha256, sessionId: 'sess_after', elevatedUntilMs: NOW + 300_000 },
      at,
    )
  const logOut = (named: { readonly subject: string | undefined }) =>
    store.endProviderSessions(
      {
        issuer: ISSUER,
        jti: 'jti-1',
        subject: named.subject,
        sid: SID,
        bodySha256: sha256(),
        issuedAtMs: NOW,
        expiresAtMs: NOW + DAY,
      },
      context(NOW, `sender:${ISSUER}`),
    )
  return { personId: person.personId, stepUp, logOut }
}

/** Keeps others from the lock of the person until `release`. On SQLite nothing waits. */
async function hold({ place, sql }: StoreWriter, personId: string) {
  if (place.kind === 'sqlite') return { waitFor: async () => {}, release: async () => {} }
  const holder = postgres(place.url, { max: 1 })
  await holder`SELECT pg_advisory_lock(hashtextextended(${consoleLock(personId)}, 0))`
  return {
    waitFor: (count: number) =>
      expect
        .poll(async () => {
          const waiting = await sql(
            `SELECT 1 AS one FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
               AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
          )
          return waiting.length
        })
        .toBe(count),
    release: () => holder.end(),
  }
}

forEachStoreWriter('a logout of the identity provider', (newWriter) => {
  it.each([SUBJECT, undefined])(
    'A373: ends a session that a step-up replaces at that moment (sub: %s)',
    async (subject) => {
      const writer = await newWriter()
      await withStore(writer, async (store) => {
        const { personId, stepUp, logOut } = await signIn(store)
        // Those that wait for a lock get it in their order, so the step-up is first.
        const { waitFor, release } = await hold(writer, personId)
        const steppingUp = stepUp()
        await waitFor(1)
        const loggingOut = logOut({ subject })
        await waitFor(2)
        await release()
        expect((await steppingUp)?.session.sessionId).toBe('sess_after')
        expect(await loggingOut).toEqual({ state: 'ended', personIds: [personId] })
        expect(await store.consoleSessions(personId, { after: undefined, limit: 10 })).toEqual([])
        const ended = (await store.auditRows(null, { after: undefined, limit: 10 })).filter(
          ({ action }) => action === 'session.end',
        )
        expect(ended.map(({ target }) => target)).toEqual(['sess_after'])
      })
    },
  )

  it('A373: a step-up that comes after it gets no session', async () => {
    const writer = await newWriter()
    await withStore(writer, async (store) => {
      const { personId, stepUp, logOut } = await signIn(store)
      const { waitFor, release } = await hold(writer, personId)
      const loggingOut = logOut({ subject: SUBJECT })
      await waitFor(1)
      const steppingUp = stepUp()
      await waitFor(2)
      await release()
      expect(await loggingOut).toEqual({ state: 'ended', personIds: [personId] })
      expect(await steppingUp).toBeUndefined()
      expect(await store.consoleSessions(personId, { after: undefined, limit: 10 })).toEqual([])
    })
  })
})
