import { describe, expect, it } from 'vitest'
import type { NewPerson } from '../../src/store/operations/people.ts'
import { context, DAY, failingAct, NOW, sha256, siteId } from './fixtures.ts'
import type { TheStore } from './the-store.ts'

let made = 0
const newPerson = (fields: Partial<NewPerson> = {}): NewPerson => ({
  personId: `person_${String(++made).padStart(6, '0')}`,
  name: 'Ada',
  roles: [{ siteId: siteId(), role: 'viewer' }],
  ...fields,
})
const newSession = (atMs = NOW) => ({
  sha256: sha256(),
  sessionId: `sess_${String(++made).padStart(6, '0')}`,
  expiresAtMs: atMs + DAY / 2,
  elevatedUntilMs: atMs + 300_000,
})

export function peopleSuite(store: TheStore): void {
  const add = async (fields: Partial<NewPerson> = {}) => {
    const created = await store().createPerson(newPerson(fields), 1000, 'new', context())
    if (typeof created === 'string') throw new Error(created)
    return created
  }
  const link = async (personId: string, atMs = NOW) => {
    const secret = sha256()
    expect(
      await store().createConsoleLink(
        { sha256: secret, personId, expiresAtMs: atMs + 60_000 },
        context(atMs),
      ),
    ).toBe('created')
    return secret
  }
  const use = (secret: string, atMs = NOW, replaced?: string) =>
    store().openConsoleSession(secret, newSession(atMs), replaced, 3, { atMs, requestId: 'req-1' })
  const open = async (personId: string, atMs = NOW) => {
    const opened = await use(await link(personId, atMs), atMs)
    if (opened === undefined) throw new Error('the link was rejected')
    return opened.session
  }
  const change = (personId: string, changes: Parameters<ReturnType<TheStore>['changePerson']>[1]) =>
    store().changePerson(personId, changes, 1000, 'why', context())
  const sessionsOf = async (personId: string) =>
    (await store().consoleSessions(personId, { after: undefined, limit: 50 })).map(
      ({ sessionId }) => sessionId,
    )
  /** The sessions that ended because this person signed in, and why, in order. */
  const endsOf = async (personId: string) => {
    const found = await store().auditRows(null, { after: undefined, limit: 100 })
    return found
      .filter(({ action, context: { actor } }) => action === 'session.end' && actor === `person:${personId}`)
      .map(({ target, detail }) => [target, detail.reason])
      .reverse()
  }

  describe('people', () => {
    it('are kept as they were added, and changed', async () => {
      const person = await add()
      expect(await store().person(person.personId)).toEqual(person)
      expect(person).toMatchObject({ status: 'active', createdAtMs: NOW })
      const roles = [{ siteId: null, role: 'operator' as const }]
      expect(await change(person.personId, { name: 'Grace', roles })).toEqual({
        ...person,
        name: 'Grace',
        roles,
      })
      expect(await store().person(person.personId)).toMatchObject({ name: 'Grace', roles })
      expect(await change('person_none', { name: 'x' })).toBeUndefined()
      const after = { after: person.personId.slice(0, -1), limit: 50 }
      expect((await store().people(after)).map(({ personId }) => personId)).toContain(person.personId)
    })

    it('are limited in number; one who was ended leaves room, and needs room to come back', async () => {
      const person = await add()
      const [active] = (await store().people({ after: undefined, limit: 1000 })).reduce(
        ([count], { status }) => [count + (status === 'active' ? 1 : 0)],
        [0],
      )
      expect(await store().createPerson(newPerson(), active ?? 0, undefined, context())).toBe('full')
      await change(person.personId, { status: 'ended' })
      expect(
        await store().changePerson(person.personId, { status: 'active' }, (active ?? 0) - 1, '', context()),
      ).toBe('full')
      expect(await change(person.personId, { status: 'active' })).toMatchObject({ status: 'active' })
    })

    it('leave audit rows with the roles and the reason, and nothing happens without one', async () => {
      const { personId } = await add()
      await change(personId, { status: 'ended' })
      const rows = (await store().auditRows(null, { after: undefined, limit: 1000 })).map(
        ({ action, target, detail }) => [action, target, detail.outcome, detail.reason],
      )
      expect(rows).toContainEqual(['person.change', personId, 'done', 'why'])
      await expect(
        store().changePerson(personId, { status: 'active' }, 1000, undefined, failingAct()),
      ).rejects.toThrow()
      expect(await store().person(personId)).toMatchObject({ status: 'ended' })
    })

    it('A374: are changed by a person only who is an operator at that moment', async () => {
      const roles = [{ siteId: null, role: 'operator' as const }]
      const [actor, target] = [await add({ roles }), await add()]
      const by = context(NOW, `person:${actor.personId}`)
      const attempts = async () => [
        await store().createPerson(newPerson(), 1000, undefined, by),
        await store().changePerson(target.personId, { name: 'Grace' }, 1000, undefined, by),
        await store().createConsoleLink(
          { sha256: sha256(), personId: target.personId, expiresAtMs: NOW + 60_000 },
          by,
        ),
      ]
      expect(await attempts()).toMatchObject([{ status: 'active' }, { name: 'Grace' }, 'created'])
      const before = await store().auditRows(null, { after: undefined, limit: 1 })
      const rejected = ['not_operator', 'not_operator', 'not_operator']
      const other = [{ siteId: siteId(), role: 'admin' as const }]
      for (const changes of [{ roles: other }, { roles, status: 'ended' as const }]) {
        await change(actor.personId, changes)
        expect(await attempts()).toEqual(rejected)
      }
      expect((await store().person(target.personId))?.name).toBe('Grace')
      const rows = await store().auditRows(null, { after: undefined, limit: 1000 })
      const later = rows.slice(
        0,
        rows.findIndex(({ id }) => id === before[0]?.id),
      )
      expect(later.filter(({ context: { actor: each } }) => each === by.actor)).toEqual([])
      await change(actor.personId, { status: 'active' })
      expect(await attempts()).toMatchObject([{ status: 'active' }, { name: 'Grace' }, 'created'])
    })

    it('do not disturb API keys: both stay valid when one of the other changes', async () => {
      const person = await add()
      const key = {
        keyId: `key_people_${person.personId}`,
        siteId: null,
        sha256: sha256(),
        last4: 'abcd',
        permissions: [],
        label: undefined,
        expiresAtMs: undefined,
      }
      await store().createApiKey(key as never, context())
      await change((await add()).personId, { status: 'ended' })
      expect(await store().apiKeyBySha256(key.sha256)).toMatchObject({ keyId: key.keyId })
      await store().deleteApiKey(null, key.keyId, context())
      expect(await store().person(person.personId)).toMatchObject({ status: 'active' })
    })
  })

  describe('links of the console', () => {
    it('open one session, once', async () => {
      const { personId } = await add()
      const secret = await link(personId)
      const opened = await use(secret)
      expect(opened).toMatchObject({
        session: { personId, door: 'link', createdAtMs: NOW, seenAtMs: NOW },
        person: { personId, status: 'active' },
      })
      expect(await store().consoleSession(opened?.session.sha256 ?? '')).toEqual(opened)
      expect(await use(secret)).toBeUndefined()
    })

    it('open one session when many use the same link at once', async () => {
      const { personId } = await add()
      const secret = await link(personId)
      const opened = await Promise.all(Array.from({ length: 8 }, () => use(secret)))
      expect(opened.filter((each) => each !== undefined)).toHaveLength(1)
      expect(await sessionsOf(personId)).toHaveLength(1)
    })

    it('expire, are replaced by the next one, and are for people who are active', async () => {
      const { personId } = await add()
      const late = await link(personId)
      expect(await use(late, NOW + 60_000)).toBeUndefined()
      const first = await link(personId)
      const second = await link(personId)
      expect(await use(first)).toBeUndefined()
      const third = sha256()
      await change(personId, { status: 'ended' })
      expect(await use(second)).toBeUndefined()
      const order = { sha256: third, personId, expiresAtMs: NOW + 1000 }
      expect(await store().createConsoleLink(order, context())).toBe('no_person')
      await change(personId, { status: 'active' })
      // A link from before does not become valid again.
      expect(await use(second)).toBeUndefined()
      expect(await use(sha256())).toBeUndefined()
    })
  })

  describe('sessions of the console', () => {
    it('end with their person, also when the person comes back', async () => {
      const { personId } = await add()
      const session = await open(personId)
      await change(personId, { status: 'ended' })
      expect(await store().consoleSession(session.sha256)).toBeUndefined()
      await change(personId, { status: 'active' })
      expect(await store().consoleSession(session.sha256)).toBeUndefined()
    })

    it('have the roles that the person has now', async () => {
      const { personId } = await add()
      const session = await open(personId)
      await change(personId, { roles: [] })
      expect(await store().consoleSession(session.sha256)).toMatchObject({ person: { roles: [] } })
    })

    it('are limited for each person: the oldest ends', async () => {
      const { personId } = await add()
      const all: string[] = []
      for (let i = 0; i < 5; i++) all.push((await open(personId, NOW + i)).sessionId)
      expect(await sessionsOf(personId)).toEqual(all.slice(2))
      expect(await endsOf(personId)).toEqual(all.slice(0, 2).map((sessionId) => [sessionId, 'limit']))
    })

    it('replace the one that the browser had', async () => {
      const { personId } = await add()
      const before = await open(personId)
      const opened = await use(await link(personId), NOW, before.sha256)
      expect(await sessionsOf(personId)).toEqual([opened?.session.sessionId])
      expect(await endsOf(personId)).toEqual([[before.sessionId, 'replaced']])
      // In the browser of another person, whose session ends.
      const other = await add()
      await use(await link(other.personId), NOW, opened?.session.sha256)
      expect(await sessionsOf(personId)).toEqual([])
      expect(await endsOf(other.personId)).toEqual([[opened?.session.sessionId, 'replaced']])
    })

    it('remember when they were used, and never an earlier time', async () => {
      const { personId } = await add()
      const { sha256: name } = await open(personId)
      await store().touchConsoleSession(name, NOW + 60_000)
      await store().touchConsoleSession(name, NOW + 1000)
      await store().touchConsoleSession(sha256(), NOW)
      expect(await store().consoleSession(name)).toMatchObject({ session: { seenAtMs: NOW + 60_000 } })
    })

    it('are ended by their name, for their person only', async () => {
      const [{ personId }, other] = [await add(), await add()]
      const { sessionId, sha256: name } = await open(personId)
      expect(await store().endConsoleSession(other.personId, sessionId, context())).toBe(false)
      expect(await store().consoleSession(name)).toBeDefined()
      expect(await store().endConsoleSession(personId, sessionId, context())).toBe(true)
      expect(await store().consoleSession(name)).toBeUndefined()
      expect(await store().endConsoleSession(personId, sessionId, context())).toBe(false)
    })

    it('are removed when they have expired, and people a year after they were ended', async () => {
      const { personId } = await add()
      const { sha256: name } = await open(personId)
      await store().purgeExpired(NOW + DAY / 2 - 1)
      expect(await store().consoleSession(name)).toBeDefined()
      await store().purgeExpired(NOW + DAY / 2)
      expect(await store().consoleSession(name)).toBeUndefined()
      await change(personId, { status: 'ended' })
      await store().purgeExpired(NOW + 395 * DAY)
      expect(await store().person(personId)).toBeDefined()
      await store().purgeExpired(NOW + 396 * DAY)
      expect(await store().person(personId)).toBeUndefined()
    })
  })
}
