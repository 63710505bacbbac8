import { describe, expect, it } from 'vitest'
import type { NewSignIn, NewSignInPresentation, SignInEnd } from '../../src/store/operations/sign-ins.ts'
import { context, credentialId, DAY, NOW, newSite, ppid, seen, sha256 } from './fixtures.ts'
import type { TheStore } from './the-store.ts'

const TRIES = 300
const MINUTE = 60_000

const SIGN_INS_KEPT_MS = 3_600_000

export function signInSuite(store: TheStore): void {
  const createSite = async () => {
    const site = newSite()
    await store().createSite(site, context())
    return site.siteId
  }
  const begin = async (changes: Partial<NewSignIn> = {}) => {
    const siteId = changes.siteId ?? (await createSite())
    const signIn: NewSignIn = {
      stateSha256: sha256(),
      siteId,
      returnUrl: 'https://shop.example/cb',
      requestedScope: undefined,
      clientStateSealed: undefined,
      codeChallenge: 'challenge',
      expiresAtMs: NOW + 10 * MINUTE,
      ...changes,
    }
    await store().createSignIn(signIn)
    return signIn
  }
  const bind = async (changes: Partial<NewSignIn> = {}) => {
    const signIn = await begin(changes)
    const browserSha256 = sha256()
    await store().openSignIn(signIn.stateSha256, { heldSha256: undefined, newSha256: browserSha256 }, NOW)
    return { ...signIn, browserSha256 }
  }
  const present = async (changes: Partial<NewSignInPresentation> = {}, ofSite: Partial<NewSignIn> = {}) => {
    const signIn = await bind(ofSite)
    const credential = seen(signIn.siteId, changes.ppid === undefined ? {} : { ppid: changes.ppid })
    const presentation: NewSignInPresentation = {
      payloadSha256: sha256(),
      stateSha256: signIn.stateSha256,
      siteId: signIn.siteId,
      ppid: credential.ppid,
      scope: credential.scope,
      permissionId: credential.permissionId,
      chain: credential.chain,
      issuer: credential.issuer,
      issuerKey: `${credential.issuer}#key`,
      verifiedAtMs: NOW,
      credentialEndsAtMs: NOW + DAY,
      expiresAtMs: NOW + MINUTE,
      ...changes,
    }
    const outcome = await store().presentSignIn(presentation, credential, NOW)
    const end: SignInEnd = {
      stateSha256: signIn.stateSha256,
      browserSha256: signIn.browserSha256,
      payloadSha256: presentation.payloadSha256,
      as: 'consumed',
    }
    return { signIn, presentation, credential, outcome, end }
  }
  const code = async (changes: Partial<NewSignInPresentation> = {}, ofSite: Partial<NewSignIn> = {}) => {
    const presented = await present(changes, ofSite)
    const ended = await store().endSignIn(presented.end, NOW)
    if (ended?.presentation === undefined) throw new Error('the sign-in could not be ended')
    const codeSha256 = sha256()
    const made = { codeSha256, codeChallenge: presented.signIn.codeChallenge, expiresAtMs: NOW + MINUTE }
    return {
      ...presented,
      codeSha256,
      found: ended.presentation,
      created: await store().createSignInCode(ended.presentation, made),
    }
  }

  describe('a sign-in', () => {
    it(`A162: is ended by exactly one of ${TRIES} who try at the same time`, async () => {
      const { end } = await present()
      const answers = await Promise.all(Array.from({ length: TRIES }, () => store().endSignIn(end, NOW)))
      expect(answers.filter((answer) => answer !== undefined)).toHaveLength(1)
      expect(await store().endSignIn(end, NOW)).toBeUndefined()
    })

    it(`I-13: its code is used by exactly one of ${TRIES} who try at the same time`, async () => {
      const { codeSha256 } = await code()
      const answers = await Promise.all(
        Array.from({ length: TRIES }, () => store().redeemSignIn(codeSha256, 'challenge', NOW)),
      )
      expect(answers.filter((answer) => answer !== undefined)).toHaveLength(1)
    })

    it('control: would be ended by several if its state were first read and then written', async () => {
      const { stateSha256, browserSha256 } = await bind()
      const used = `ended ${stateSha256}`
      const answers = await Promise.all(
        Array.from({ length: TRIES }, async () => {
          // The same question that the one statement asks, and the answer written down after it.
          const isOpen =
            (await store().openSignIn(
              stateSha256,
              { heldSha256: browserSha256, newSha256: sha256() },
              NOW,
            )) !== undefined
          if (!isOpen || (await store().secret(used)) !== undefined) return false
          await store().putSecret(used, 'yes')
          return true
        }),
      )
      expect(answers.filter(Boolean).length).toBeGreaterThan(1)
    })

    it(`is bound to exactly one of ${TRIES} browsers that open it at the same time`, async () => {
      const { stateSha256 } = await begin()
      const browsers = Array.from({ length: TRIES }, () => sha256())
      const answers = await Promise.all(
        browsers.map((newSha256) =>
          store().openSignIn(stateSha256, { heldSha256: undefined, newSha256 }, NOW),
        ),
      )
      const won = answers.filter((answer) => answer !== undefined)
      expect(won).toHaveLength(1)
      const [bound] = won.map(({ browserSha256 }) => browserSha256)
      const again = await store().openSignIn(stateSha256, { heldSha256: bound, newSha256: sha256() }, NOW)
      expect(again?.browserSha256).toBe(bound)
    })

    it('is not begun when its site has too many open, until one of them expires (S7, A169)', async () => {
      const siteId = await createSite()
      const another = (changes: Partial<NewSignIn>, nowMs: number) => {
        const signIn = {
          stateSha256: sha256(),
          siteId,
          returnUrl: 'https://shop.example/cb',
          requestedScope: undefined,
          clientStateSealed: undefined,
          codeChallenge: 'challenge',
          expiresAtMs: NOW + 10 * MINUTE,
          ...changes,
        }
        return store().createSignIn(signIn, { nowMs, openMax: 3 })
      }
      const begun: boolean[] = []
      for (const minutes of [1, 2, 3, 4])
        begun.push(await another({ expiresAtMs: NOW + minutes * MINUTE }, NOW))
      expect(begun).toEqual([true, true, true, false])
      expect(await another({ siteId: await createSite() }, NOW)).toBe(true)
      expect([
        await another({}, NOW + MINUTE - 1),
        await another({}, NOW + MINUTE),
        await another({}, NOW + MINUTE),
      ]).toEqual([false, true, false])
    })
    it('comes back as it was begun', async () => {
      const signIn = await bind({ requestedScope: ['orders:read'] as never, clientStateSealed: 'sealed' })
      const tried = await store().trySignIn(signIn.stateSha256, signIn.browserSha256, 10, NOW)
      expect(tried).toEqual({ ...signIn, tries: 1 })
    })

    it('is not there for another browser, nor for one that has none', async () => {
      const { stateSha256 } = await bind()
      expect(
        await store().openSignIn(stateSha256, { heldSha256: sha256(), newSha256: sha256() }, NOW),
      ).toBeUndefined()
      expect(await store().trySignIn(stateSha256, sha256(), 10, NOW)).toBeUndefined()
      expect(
        await store().endSignIn(
          { stateSha256, browserSha256: sha256(), payloadSha256: undefined, as: 'cancelled' },
          NOW,
        ),
      ).toBeUndefined()
    })

    it('is not there from the very millisecond of its end', async () => {
      const { stateSha256, browserSha256, expiresAtMs } = await bind()
      expect(await store().trySignIn(stateSha256, browserSha256, 10, expiresAtMs - 1)).toBeDefined()
      expect(await store().trySignIn(stateSha256, browserSha256, 10, expiresAtMs)).toBeUndefined()
      const end: SignInEnd = { stateSha256, browserSha256, payloadSha256: undefined, as: 'consumed' }
      expect(await store().endSignIn(end, expiresAtMs)).toBeUndefined()
      expect(
        await store().openSignIn(
          stateSha256,
          { heldSha256: browserSha256, newSha256: sha256() },
          expiresAtMs,
        ),
      ).toBeUndefined()
    })

    it('allows so many tries', async () => {
      const { stateSha256, browserSha256 } = await bind()
      const tries = await Promise.all(
        Array.from({ length: 50 }, () => store().trySignIn(stateSha256, browserSha256, 10, NOW)),
      )
      expect(tries.filter((answer) => answer !== undefined)).toHaveLength(10)
    })

    it('takes several presentations, and gives each back by its own payload only, for a minute', async () => {
      const one = await present()
      const other = await present()
      const again: NewSignInPresentation = { ...one.presentation, payloadSha256: sha256() }
      expect(await store().presentSignIn(again, one.credential, NOW)).toBe('presented')
      const foreign = await store().endSignIn(
        { ...other.end, payloadSha256: one.presentation.payloadSha256 },
        NOW,
      )
      expect(foreign?.presentation).toBeUndefined()
      const ended = await store().endSignIn(one.end, NOW + MINUTE - 1)
      expect(ended?.presentation).toEqual({ ...one.presentation, isCancelled: false })
      const late = await present()
      expect((await store().endSignIn(late.end, NOW + MINUTE))?.presentation).toBeUndefined()
    })

    it('takes none once it has ended', async () => {
      const { end, presentation, credential } = await present()
      await store().endSignIn({ ...end, as: 'cancelled' }, NOW)
      expect(await store().presentSignIn({ ...presentation, payloadSha256: sha256() }, credential, NOW)).toBe(
        'over',
      )
    })

    it('gives a code once, and takes it with its own challenge only, for a minute', async () => {
      const { codeSha256, found, created, presentation } = await code()
      expect(created).toBe('created')
      const second = { codeSha256: sha256(), codeChallenge: 'challenge', expiresAtMs: NOW + MINUTE }
      expect(await store().createSignInCode(found, second)).toBe('revoked')
      expect(await store().redeemSignIn(codeSha256, 'another', NOW)).toBeUndefined()
      expect(await store().redeemSignIn(sha256(), 'challenge', NOW)).toBeUndefined()
      expect(await store().redeemSignIn(presentation.payloadSha256, 'challenge', NOW)).toBeUndefined()
      expect(await store().redeemSignIn(codeSha256, 'challenge', NOW + MINUTE)).toBeUndefined()
      expect(await store().redeemSignIn(codeSha256, 'challenge', NOW + MINUTE - 1)).toMatchObject({
        ppid: presentation.ppid,
      })
    })

    it('is killed by the revocation of its user, in the same transaction, at every step', async () => {
      const presented = await present()
      const coded = await code()
      for (const { presentation } of [presented, coded]) {
        await store().revokeUser(
          { siteId: presentation.siteId, ppid: presentation.ppid, reason: undefined },
          context(),
        )
      }
      const ended = await store().endSignIn(presented.end, NOW)
      expect(ended?.presentation?.isCancelled).toBe(true)
      expect(await store().redeemSignIn(coded.codeSha256, 'challenge', NOW)).toBeUndefined()
      const { siteId, ppid: user } = presented.presentation
      // Reinstated or not: what was killed stays dead.
      await store().reinstateUser({ siteId, ppid: user, reason: undefined }, context())
      if (ended?.presentation !== undefined) {
        const made = { codeSha256: sha256(), codeChallenge: 'challenge', expiresAtMs: NOW + MINUTE }
        expect(await store().createSignInCode(ended.presentation, made)).toBe('revoked')
      }
    })

    it('dies with any credential of its chain', async () => {
      const parent = { credentialId: credentialId(), createdMs: NOW - 2000 }
      const chain = () => [{ credentialId: credentialId(), createdMs: NOW - 1000 }, parent]
      const siteId = await createSite()
      const presented = await present({ chain: chain() }, { siteId })
      const coded = await code({ chain: chain() }, { siteId })
      await store().revokeCredential(
        { siteId, credentialId: parent.credentialId, reason: undefined },
        context(),
      )
      const ended = await store().endSignIn(presented.end, NOW)
      const made = { codeSha256: sha256(), codeChallenge: 'challenge', expiresAtMs: NOW + MINUTE }
      if (ended?.presentation === undefined) throw new Error('there is no presentation')
      expect(await store().createSignInCode(ended.presentation, made)).toBe('revoked')
      expect(await store().redeemSignIn(coded.codeSha256, 'challenge', NOW)).toBeUndefined()
      expect((await present({ chain: chain() }, { siteId })).outcome).toBe('revoked')
    })

    it('against the revocation of its user, at whatever moment: no code is taken after it', async () => {
      const outcomes = new Set<string>()
      for (let round = 0; round < 60; round++) {
        const user = ppid()
        const { presentation, end } = await present({ ppid: user })
        const { siteId } = presentation
        const codeSha256 = sha256()
        const finish = async () => {
          for (let i = 0; i < round % 5; i++) await new Promise(setImmediate)
          const ended = await store().endSignIn(end, NOW)
          if (ended?.presentation === undefined) return 'none'
          return store().createSignInCode(ended.presentation, {
            codeSha256,
            codeChallenge: 'challenge',
            expiresAtMs: NOW + MINUTE,
          })
        }
        const revoke = async () => {
          for (let i = 0; i < round % 3; i++) await new Promise(setImmediate)
          return store().revokeUser({ siteId, ppid: user, reason: undefined }, context())
        }
        const [made] = await Promise.all([finish(), revoke()])
        outcomes.add(made)
        expect(await store().redeemSignIn(codeSha256, 'challenge', NOW)).toBeUndefined()
      }
      expect(outcomes.size).toBeGreaterThan(0)
    })

    it('A169: is purged when it has expired, with its presentations, and not before', async () => {
      const siteId = await createSite()
      const flood = await Promise.all(
        Array.from({ length: 2500 }, () => begin({ siteId, expiresAtMs: NOW + 1000 })),
      )
      const { codeSha256 } = await code()
      await store().purgeExpired(NOW + 999)
      const [first, last] = [flood[0]?.stateSha256 ?? '', flood.at(-1)?.stateSha256 ?? '']
      expect(
        await store().openSignIn(first, { heldSha256: undefined, newSha256: sha256() }, NOW),
      ).toBeDefined()
      while ((await store().purgeExpired(NOW + 1000)).hasMore);
      expect(
        await store().openSignIn(last, { heldSha256: undefined, newSha256: sha256() }, NOW),
      ).toBeUndefined()
      expect(await store().redeemSignIn(codeSha256, 'challenge', NOW)).toBeDefined()
    })
  })

  it('A10: a sign-in that a browser has opened is known for an hour after its end', async () => {
    const opened = await bind({ expiresAtMs: NOW + 1000 })
    const unopened = await begin({ expiresAtMs: NOW + 1000 })
    await store().purgeExpired(NOW + 1000 + SIGN_INS_KEPT_MS - 1)
    expect(await store().signIn(opened.stateSha256)).toMatchObject({
      siteId: opened.siteId,
      returnUrl: opened.returnUrl,
      tries: 0,
    })
    expect(await store().signIn(unopened.stateSha256)).toBeUndefined()
    expect(await store().trySignIn(opened.stateSha256, opened.browserSha256, 10, NOW + 1000)).toBeUndefined()
    await store().purgeExpired(NOW + 1000 + SIGN_INS_KEPT_MS)
    expect(await store().signIn(opened.stateSha256)).toBeUndefined()
  })

  describe('an offer', () => {
    const offer = async () => {
      const siteId = await createSite()
      const credential = seen(siteId)
      const made = {
        sha256: sha256(),
        siteId,
        ppid: credential.ppid,
        scope: credential.scope,
        permissionId: undefined,
        ttlSeconds: 3600,
        expiresAtMs: NOW + 15 * MINUTE,
      }
      await store().createOffer(made, context())
      return { made, credential }
    }

    const claimBy = (holderKey: string, { credentialId: id }: { readonly credentialId: string }) => ({
      holderKey,
      credential: { id },
    })

    it('comes back as it was made, with its maker', async () => {
      const { made } = await offer()
      expect(await store().offer(made.sha256)).toEqual({
        ...made,
        actor: context().actor,
        isCancelled: false,
        claim: undefined,
      })
      expect(await store().offer(sha256())).toBeUndefined()
      const rows = await store().auditRows(made.siteId, { after: undefined, limit: 10 })
      expect(rows.map(({ action, target }) => [action, target])).toContainEqual(['offer.create', made.ppid])
    })

    it(`is claimed by exactly one of ${TRIES} keys that try at the same time, and what was issued for it is known then`, async () => {
      const { made } = await offer()
      const claims = Array.from({ length: TRIES }, () => seen(made.siteId, { ppid: made.ppid }))
      const answers = await Promise.all(
        claims.map((claim, i) =>
          store().claimOffer(made.sha256, claimBy(`did:key:${i}`, claim), claim, context()),
        ),
      )
      const winner = answers.findIndex((answer) => answer !== undefined)
      expect(answers.filter((answer) => answer !== undefined)).toEqual([{ id: claims[winner]?.credentialId }])
      const known = await store().credentials(
        made.siteId,
        { ppid: made.ppid },
        { after: undefined, limit: 10 },
      )
      expect(known.map(({ credentialId }) => credentialId)).toEqual([claims[winner]?.credentialId])
      expect((await store().offer(made.sha256))?.claim?.holderKey).toBe(`did:key:${winner}`)
    })

    it('A2: gives one key that claims it many times at once the same credential, and only that one is known', async () => {
      const { made } = await offer()
      const claims = Array.from({ length: 100 }, () => seen(made.siteId, { ppid: made.ppid }))
      const answers = await Promise.all(
        claims.map((claim) => store().claimOffer(made.sha256, claimBy('did:key:a', claim), claim, context())),
      )
      const known = await store().credentials(
        made.siteId,
        { ppid: made.ppid },
        { after: undefined, limit: 10 },
      )
      expect(known).toHaveLength(1)
      expect(new Set(answers.map((answer) => answer?.id))).toEqual(new Set([known[0]?.credentialId]))
      const rows = await store().auditRows(made.siteId, { after: undefined, limit: 200 })
      expect(rows.filter(({ action }) => action === 'credential.issue')).toHaveLength(1)
    })

    it('is not claimed after its end, nor once its user is revoked, also not again', async () => {
      const late = await offer()
      const atEnd = { ...context(), atMs: late.made.expiresAtMs }
      const claim = claimBy('did:key:a', late.credential)
      expect(await store().claimOffer(late.made.sha256, claim, late.credential, atEnd)).toBeUndefined()
      expect(await store().claimOffer(late.made.sha256, claim, late.credential, context())).toEqual(
        claim.credential,
      )
      expect(await store().claimOffer(late.made.sha256, claim, late.credential, atEnd)).toBeUndefined()
      const { made, credential } = await offer()
      await store().claimOffer(made.sha256, claimBy('did:key:a', credential), credential, context())
      const other = await offer()
      for (const { siteId, ppid: user } of [made, other.made]) {
        await store().revokeUser({ siteId, ppid: user, reason: undefined }, context())
        await store().reinstateUser({ siteId, ppid: user, reason: undefined }, context())
      }
      for (const one of [made, other.made]) {
        expect((await store().offer(one.sha256))?.isCancelled).toBe(true)
        expect(
          await store().claimOffer(one.sha256, claimBy('did:key:a', credential), credential, context()),
        ).toBeUndefined()
      }
    })

    it('is purged when it has expired', async () => {
      const { made } = await offer()
      await store().purgeExpired(made.expiresAtMs - 1)
      expect(await store().offer(made.sha256)).toBeDefined()
      await store().purgeExpired(made.expiresAtMs)
      expect(await store().offer(made.sha256)).toBeUndefined()
    })
  })
}
