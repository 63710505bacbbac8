import type { SiteId } from '@countersign/core'
import { describe, expect, it } from 'vitest'
import { guard } from '../../src/access/guard.ts'
import type { Deps } from '../../src/deps.ts'
import { StoreUnavailable } from '../../src/store/errors.ts'
import { begin as beginAt, NOWHERE } from '../node.ts'
import { delegated, issued as issuedBy, NOW, newParty } from '../party.ts'
import { forEachSharedStore } from '../stores.ts'

const context = { actor: 'operator', atMs: NOW, requestId: undefined }

forEachSharedStore('the guard', (open) => {
  const begin = () => beginAt(open())

  describe('I-1: while it waits for a nonce', () => {
    /**
     * A bound credential on its way through the guard; `meanwhile` happens, and is acknowledged,
     * while its nonce is being used up.
     */
    const showing = async (
      meanwhile: (
        begun: Awaited<ReturnType<typeof begin>> & { id: string; ppid: string; rootId: string },
      ) => Promise<unknown>,
    ) => {
      const begun = await begin()
      const { node, issued } = begun
      const [one, two] = [await newParty(), await newParty()]
      const root = await issued({ holderKey: one.did, delegable: true })
      const child = await delegated(root, one, two)
      const { consume } = node.deps.nonces
      Object.assign(node.deps, {
        nonces: {
          consume: async (use: Parameters<typeof consume>[0]) => {
            await meanwhile({ ...begun, id: child.id, ppid: child.ppid, rootId: root.id })
            return consume(use)
          },
        },
      })
      return node.context(child.header, { holder: two })
    }

    it('accepts when nothing has happened, or something that does not matter', async () => {
      expect((await showing(async () => {})).status).toBe(200)
      expect((await showing(({ node }) => node.revokeCredential('cred_somebodyelse'))).status).toBe(200)
    })

    it('rejects a caller whose credential, parent or user has been revoked', async () => {
      expect((await showing(({ node, id }) => node.revokeCredential(id))).code).toBe('credential_revoked')
      expect((await showing(({ node, rootId }) => node.revokeCredential(rootId))).code).toBe(
        'credential_revoked',
      )
      expect((await showing(({ node, ppid }) => node.revokeUser(ppid))).code).toBe('credential_revoked')
    })

    it('rejects a caller whose issuer is no longer trusted, or whose key is known to be stolen', async () => {
      const distrusted = await showing(async ({ store, A, issuer, node }) => {
        const changed = await store.changeIssuer(A, issuer.did, { status: 'distrusted' }, context)
        await node.deps.views.waitFor(changed?.position ?? 0)
      })
      const stolen = await showing(async ({ store, A, issuer, node }) => {
        await store.changeIssuerKey(A, issuer.did, issuer.keyId, 'compromised', context)
        await node.deps.views.waitFor(await store.logPosition())
      })
      expect([distrusted.code, stolen.code]).toEqual(['issuer_untrusted', 'issuer_untrusted'])
    })

    it('I-12: rejects a credential that has expired meanwhile', async () => {
      const answer = await showing(({ node }) => node.later(3_600_000))
      expect(answer.code).toBe('credential_expired')
    })

    it('rejects every caller when the view is too old', async () => {
      const answer = await showing(async ({ node, store }) => {
        store.entriesAfter = () => Promise.reject(new StoreUnavailable('away'))
        node.clock.pass(2001)
      })
      expect(answer.code).toBe('revocation_view_stale')
    })
  })

  it('judges a token after it has been looked up, not before', async () => {
    const { node, issued } = await begin()
    const { id, document } = await issued()
    const token = await node.tokenFor(document)
    const { find } = node.deps.tokens
    node.deps.tokens.find = async (text) => {
      const found = await find(text)
      await node.revokeCredential(id)
      return found
    }
    expect((await node.bearer(token)).code).toBe('token_invalid')
  })

  it('judges a site that does not exist like one that trusts no issuer', async () => {
    const { node, B, store } = await begin()
    const empty = `empty-${B}` as SiteId
    await store.createSite(
      {
        siteId: empty,
        name: undefined,
        returnUrls: [],
        bearer: 'on',
        holderProof: 'optional',
        delegation: 'on',
        credentialTtlSecondsMax: undefined,
        pairwiseSecretSealed: 'x',
      },
      context,
    )
    await node.deps.views.waitFor(await store.logPosition())
    const { header } = await issuedBy(await newParty(), { siteId: NOWHERE })
    const told = await Promise.all(
      [empty, NOWHERE].flatMap((siteId) =>
        [header, 'junk'].map((shown) =>
          (async () =>
            guard(node.deps, {
              presentation: { header: shown },
              siteId,
              scope: [],
              request: undefined,
            }))().catch(({ code, detail }) => [code, detail]),
        ),
      ),
    )
    expect(told.slice(0, 2)).toEqual(told.slice(2))
    expect(told[0]).toMatchObject(['issuer_untrusted', expect.any(String)])
  })

  it('counts verdicts by site, and makes no label of a site that a caller made up', async () => {
    const { node, issued, A } = await begin()
    const counted: string[][] = []
    const meters = { verdict: (...labels: string[]) => counted.push(labels) } as unknown as Deps['meters']
    const { header, document } = await issued()
    const token = await node.tokenFor(document)
    const deps = { ...node.deps, meters }
    const pass = (presentation: { header: string } | { bearer: string }, siteId: SiteId) =>
      (async () => guard(deps, { presentation, siteId, scope: [], request: undefined }))().catch(() => {})
    await pass({ header }, A)
    await pass({ bearer: token }, A)
    await pass({ bearer: 'junk' }, A)
    await pass({ header }, NOWHERE)
    expect(counted).toEqual([
      [A, 'credential', 'allowed'],
      [A, 'bearer', 'allowed'],
      [A, 'bearer', 'token_invalid'],
    ])
  })
})
