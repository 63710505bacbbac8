import { createHash, randomBytes } from 'node:crypto'
import { type Ppid, type Scope, toHolderThumbprint } from '@countersign/core'
import type { EndpointId, PreviewAct } from '@countersign/core/contract'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { finishSignIn } from '../../../../src/actions/finish-sign-in.ts'
import { resolveOrder } from '../../../../src/actions/issue-for-user.ts'
import { createOffer, readOffer } from '../../../../src/actions/offers.ts'
import { ensureOwnIssuer } from '../../../../src/actions/own-issuer.ts'
import { openServiceKeys } from '../../../../src/keys/service-keys.ts'
import { createSecrets } from '../../../keys/secrets-double.ts'
import { type Ask, begin, keyOf, trust } from '../../../node.ts'
import { delegated, issued, type Made, NOW, newParty, newPpid, type Party } from '../../../party.ts'
import { forEachSharedStore } from '../../../stores.ts'

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')
const CONTEXT = { actor: 'operator', atMs: NOW, requestId: undefined }
const RETURN_URL = 'https://shop.example/callback'
const SCOPE = ['orders:read'] as unknown as readonly Scope[]

/** What a site has: which user and issuer each credential is of, and what hangs on it. */
interface Plan {
  readonly credentials: readonly {
    readonly user: number
    readonly issuer: number
    readonly isBound: boolean
    readonly hasChild: boolean
    readonly hasToken: boolean
    readonly hasSignIn: boolean
    readonly isRevoked: boolean
  }[]
  /** The users of offers. */
  readonly offers: readonly number[]
  readonly act: number
  readonly target: number
}

const user = fc.integer({ min: 0, max: 2 })
const plan: fc.Arbitrary<Plan> = fc.record({
  credentials: fc.array(
    fc.record({
      user,
      issuer: fc.integer({ min: 0, max: 1 }),
      isBound: fc.boolean(),
      hasChild: fc.boolean(),
      hasToken: fc.boolean(),
      hasSignIn: fc.boolean(),
      isRevoked: fc.nat(4).map((n) => n === 0),
    }),
    { minLength: 1, maxLength: 5 },
  ),
  offers: fc.array(user, { maxLength: 3 }),
  act: fc.nat(99),
  target: fc.nat(99),
})

forEachSharedStore('a preview', (open) => {
  /** Fills a new site by the plan. */
  const build = async ({ credentials, offers }: Plan) => {
    const { node, A, store, issuer } = await begin(open())
    const keys = await openServiceKeys(createSecrets(), randomBytes(32), 'https://service.example', NOW)
    Object.assign(node.deps, { keys })
    await store.changeSite(A, { returnUrls: [RETURN_URL] }, CONTEXT)
    const other = await newParty()
    await trust(store, A, other)
    await ensureOwnIssuer(node.deps, A, CONTEXT)
    await node.deps.views.waitFor(await store.logPosition())
    const issuers = [issuer, other]
    const users = Array.from({ length: 3 }, () => newPpid())
    const made: (Made & { by: Party | undefined; tokenId: string | undefined; token: string | undefined })[] =
      []
    const signIns: { readonly state: string; readonly browser: string; readonly payload: string }[] = []
    const add = async (one: Made, by: Party | undefined, hasToken: boolean, hasSignIn: boolean) => {
      // The exchange records the credential, with its chain.
      const token = await node.tokenFor(one.document, {}, by === undefined ? {} : { holder: by })
      const tokenId = (await store.token(sha256(token)))?.jti
      if (!hasToken) await node.revokeToken(token)
      made.push({ ...one, by, token: hasToken ? token : undefined, tokenId: hasToken ? tokenId : undefined })
      if (hasSignIn) signIns.push(await present(one))
    }
    const present = async (one: Made) => {
      const page = { after: undefined, limit: 100 }
      const rows = await store.credentials(A, { ppid: one.ppid as Ppid }, page)
      const row = rows.find(({ credentialId }) => credentialId === one.id)
      if (row?.issuerKey === undefined) throw new Error('the credential was not recorded')
      const [state, browser, payload] = [0, 1, 2].map(() => randomBytes(32).toString('base64url')) as [
        string,
        string,
        string,
      ]
      const expiresAtMs = NOW + 60_000
      await store.createSignIn({
        stateSha256: sha256(state),
        siteId: A,
        returnUrl: RETURN_URL,
        requestedScope: undefined,
        clientStateSealed: undefined,
        codeChallenge: 'challenge',
        expiresAtMs,
      })
      await store.openSignIn(sha256(state), { heldSha256: undefined, newSha256: sha256(browser) }, NOW)
      const { ppid, permissionId, chain, issuer: by, issuerKey } = row
      const presentation = {
        ...{ siteId: A, ppid, scope: SCOPE, permissionId, chain, issuer: by, issuerKey, expiresAtMs },
        payloadSha256: sha256(payload),
        stateSha256: sha256(state),
        verifiedAtMs: NOW,
        credentialEndsAtMs: row.validUntilMs,
      }
      expect(await store.presentSignIn(presentation, { ...row, issuerKey }, NOW)).toBe('presented')
      return { state, browser, payload }
    }
    for (const each of credentials) {
      const holder = each.isBound ? await newParty() : undefined
      const by = issuers[each.issuer] as Party
      const grant = holder === undefined ? {} : { holderKey: holder.did, delegable: true }
      const one = await issued(by, { siteId: A, ppid: users[each.user] as string, ...grant } as never)
      await add(one, holder, each.hasToken, each.hasSignIn)
      if (holder !== undefined && each.hasChild) {
        const agent = await newParty()
        await add(await delegated(one, holder, agent), agent, each.hasToken, each.hasSignIn)
      }
      if (each.isRevoked) expect((await node.revokeCredential(one.id)).status).toBe(200)
    }
    const codes: string[] = []
    for (const i of offers) {
      const order = { siteId: A, user: { ppid: users[i] as Ppid }, scope: SCOPE, permissionId: undefined }
      codes.push(await createOffer(node.deps, { ...order, ttlSeconds: undefined }, CONTEXT))
    }
    const bound = made.find(({ by }) => by !== undefined)?.by
    const thumbprint = (await toHolderThumbprint((bound ?? (await newParty())).did)) ?? ''
    return { node, A, store, issuers, users, made, signIns, codes, thumbprint, ownIssuer: keys.issuerDid }
  }
  type World = Awaited<ReturnType<typeof build>>
  type Done = readonly [act: PreviewAct, id: EndpointId, ask: Ask]

  /** All kinds of acts, each on something of the site. */
  const chooseAct = (
    { A, issuers, users, made, thumbprint, ownIssuer }: World,
    { act, target }: Plan,
  ): Done => {
    const pick = <Item>(items: readonly Item[]) => items[target % items.length] as Item
    const params = { site_id: A }
    const [ppid, one, issuer] = [pick(users), pick(made), pick(issuers)]
    const did = pick([issuer.did, ownIssuer])
    const tokenId = made.find((each) => each.tokenId !== undefined)?.tokenId ?? 'tok_none'
    const targets = [{ ppid }, { credential_id: one.id }, { token_id: tokenId }]
    const status = pick(['retired', 'compromised'] as const)
    const acts: readonly Done[] = [
      [{ type: 'revoke_user', ppid }, 'revoke_user', { body: { ppid, site_id: A } }],
      [{ type: 'sign_out_user', ppid }, 'sign_out_user', { body: { ppid, site_id: A } }],
      [
        { type: 'revoke_credential', credential_id: one.id },
        'revoke_credential',
        { body: { credential_id: one.id, site_id: A } },
      ],
      [
        { type: 'revoke_token', token_id: tokenId },
        'revoke_token_by_id',
        { params: { site_id: A, token_id: tokenId } },
      ],
      [{ type: 'revoke_targets', targets }, 'revoke_targets', { params, body: { targets } }],
      [{ type: 'revoke_holder', thumbprint }, 'revoke_holder', { params, body: { thumbprint } }],
      [{ type: 'cut_off_issuer', issuer: did }, 'cut_off_issuer', { params, body: { issuer: did } }],
      [{ type: 'cut_off_site' }, 'cut_off_site', { params, body: { confirm: A } }],
      [
        { type: 'distrust_issuer', issuer: did },
        'change_issuer',
        { params: { site_id: A, issuer: did }, body: { status: 'distrusted' } },
      ],
      [
        { type: 'change_issuer_key', issuer: issuer.did, key: issuer.keyId, status },
        'change_issuer_key',
        { params: { site_id: A, issuer: issuer.did, key: issuer.keyId }, body: { status } },
      ],
      [{ type: 'change_site', bearer: 'off' }, 'change_site', { params, body: { bearer: 'off' } }],
      [{ type: 'change_site', delegation: 'off' }, 'change_site', { params, body: { delegation: 'off' } }],
    ]
    return acts[act % acts.length] as Done
  }

  /** What the node accepts now. */
  const listAccepted = async ({ node, made }: World) => {
    const accepted = { credentials: [] as string[], tokens: [] as string[] }
    for (const { id, header, by, token, tokenId } of made) {
      const signed = by === undefined ? {} : { fields: { 'x-service-credential': header }, holder: by }
      if ((await node.context(header, signed)).status === 200) accepted.credentials.push(id)
      if (token !== undefined && (await node.bearer(token)).status === 200)
        accepted.tokens.push(tokenId ?? '')
    }
    return accepted
  }
  /** Offers that can be claimed. Reads them only. */
  const countOffers = async ({ node, A, codes, users }: World) => {
    let count = 0
    for (const code of codes)
      try {
        await readOffer(node.deps, code)
        const order = { siteId: A, user: { ppid: users[0] as Ppid }, ttlSeconds: undefined }
        await resolveOrder(node.deps, order, CONTEXT)
        count++
      } catch {
        // It has ended.
      }
    return count
  }
  /** Sign-ins that can be finished. Finishes them. */
  const countFinished = async ({ node, signIns }: World) => {
    let count = 0
    for (const signIn of signIns) {
      const { outcome } = await finishSignIn(node.deps, signIn)
      if ('code' in outcome) count++
    }
    return count
  }

  it('states the numbers of the act, for any act on any site', {
    tags: 'long',
    timeout: 300_000,
  }, async () => {
    await fc.assert(
      fc.asyncProperty(plan, async (each) => {
        // Two sites of the same kind: sign-ins can be finished only once.
        const untouched = await build(each)
        const world = await build(each)
        const [act, id, ask] = chooseAct(world, each)
        const before = { ...(await listAccepted(world)), offers: await countOffers(world) }
        const { node, A } = world
        const found = await node.ask('preview', { params: { site_id: A }, caller: keyOf(A), body: { act } })
        expect([act.type, found.status]).toEqual([act.type, 200])
        const done = await node.ask(id, { caller: keyOf(A), ...ask })
        expect([act.type, done.status]).toEqual([act.type, 200])
        const after = { ...(await listAccepted(world)), offers: await countOffers(world) }
        const missing = (of: 'credentials' | 'tokens') =>
          before[of].filter((name) => !after[of].includes(name))
        const ended = {
          credentials: missing('credentials').sort(),
          tokens: missing('tokens').sort(),
          offers: before.offers - after.offers,
          signIns: (await countFinished(untouched)) - (await countFinished(world)),
        }
        const { credentials, tokens, offers, sign_ins } = found.body
        const samples = {
          credentials: found.body.samples.credentials.sort(),
          tokens: found.body.samples.tokens.sort(),
        }
        expect([act.type, { samples, offers, sign_ins }]).toMatchObject([
          act.type,
          {
            samples: { credentials: ended.credentials, tokens: ended.tokens },
            offers: ended.offers,
            sign_ins: ended.signIns,
          },
        ])
        expect([credentials.count, tokens.count]).toEqual([ended.credentials.length, ended.tokens.length])
      }),
      { numRuns: 12 },
    )
  })
})
