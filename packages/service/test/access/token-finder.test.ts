import { randomBytes } from 'node:crypto'
import type { CredentialId, PermissionId, Ppid, Scope, SiteId } from '@countersign/core'
import { describe, expect, it } from 'vitest'
import { createTokenFinder } from '../../src/access/token-finder.ts'
import { createSecretText, secretSha256 } from '../../src/keys/secret-text.ts'
import { StoreUnavailable } from '../../src/store/errors.ts'
import type { TokenRow } from '../../src/store/operations/tokens.ts'

class TokenStore {
  rows = new Map<string, TokenRow>()
  asked: string[] = []
  isDown = false
  async token(sha256: string): Promise<TokenRow | undefined> {
    this.asked.push(sha256)
    if (this.isDown) throw new StoreUnavailable('down')
    return this.rows.get(sha256)
  }

  give(changes: Partial<TokenRow> = {}): string {
    const text = createSecretText('svc_at_', randomBytes(32))
    const sha256 = secretSha256(text)
    this.rows.set(sha256, {
      sha256,
      jti: 'tok_1',
      siteId: 'a.example' as SiteId,
      ppid: 'did:service:ppid_aaaaaaaaaaaa' as Ppid,
      scope: ['orders:read' as Scope],
      permissionId: 'perm_x' as PermissionId,
      chain: [
        { credentialId: 'cred_child000' as CredentialId, createdMs: 2 },
        { credentialId: 'cred_root0000' as CredentialId, createdMs: 1 },
      ],
      issuer: 'did:key:z6Mk',
      issuerKey: 'did:key:z6Mk#z6Mk',
      issuedAtMs: 10,
      expiresAtMs: 20,
      revokedAtMs: undefined,
      ...changes,
    })
    return text
  }
}

describe('the token finder', () => {
  it('finds the facts of a token that was given out', async () => {
    const store = new TokenStore()
    const token = store.give()
    expect(await createTokenFinder(store).find(token)).toEqual({
      tokenSha256: secretSha256(token),
      jti: 'tok_1',
      siteId: 'a.example',
      ppid: 'did:service:ppid_aaaaaaaaaaaa',
      scope: ['orders:read'],
      permissionId: 'perm_x',
      credentialIds: ['cred_child000', 'cred_root0000'],
      holders: [undefined, undefined],
      isDelegated: true,
      issuer: 'did:key:z6Mk',
      issuerKey: 'did:key:z6Mk#z6Mk',
      signedAtMs: 1,
      oldestSignedAtMs: 1,
      issuedAtMs: 10,
      expiresAtMs: 20,
    })
  })

  it('asks the store once for each token', async () => {
    const store = new TokenStore()
    const finder = createTokenFinder(store)
    const token = store.give()
    await finder.find(token)
    await finder.find(token)
    expect(store.asked).toHaveLength(1)
  })

  it('does not remember that a token is unknown', async () => {
    const store = new TokenStore()
    const finder = createTokenFinder(store)
    const token = store.give()
    const [sha256 = '', row] = [...store.rows][0] ?? []
    store.rows.clear()
    expect(await finder.find(token)).toBeUndefined()
    if (row) store.rows.set(sha256, row)
    expect(await finder.find(token)).toBeDefined()
  })

  it('does not bother the store with what has not the form of a token', async () => {
    const store = new TokenStore()
    const finder = createTokenFinder(store)
    const token = store.give()
    const last = token.at(-1) === 'A' ? 'B' : 'A'
    const junk = [
      token.slice(0, -1),
      `${token}A`,
      token.slice(0, -1) + last,
      token.replace('svc_at_', 'svc_sk_'),
      '',
      'x',
      token.toUpperCase(),
    ]
    for (const text of junk) expect(await finder.find(text)).toBeUndefined()
    expect(store.asked).toEqual([])
  })

  it('knows nothing of a token that the store calls revoked, and does not remember it', async () => {
    const store = new TokenStore()
    const finder = createTokenFinder(store)
    const token = store.give({ revokedAtMs: 15 })
    expect(await finder.find(token)).toBeUndefined()
    expect(await finder.find(token)).toBeUndefined()
    expect(store.asked).toHaveLength(2)
  })

  it('remembers a bounded number, and of those the ones in use', async () => {
    const store = new TokenStore()
    const finder = createTokenFinder(store, { capacity: 8 })
    const used = store.give()
    await finder.find(used)
    for (let i = 0; i < 100; i++) {
      await finder.find(store.give())
      await finder.find(used)
    }
    expect(store.asked.filter((sha256) => sha256 === secretSha256(used))).toHaveLength(1)
    const [first = ''] = store.rows.keys()
    expect(first).toBe(secretSha256(used))
    store.asked.length = 0
    const tokens = [...Array(20)].map(() => store.give())
    for (const token of tokens) await finder.find(token)
    for (const token of tokens) await finder.find(token)
    expect(store.asked.length).toBeGreaterThan(20)
  })

  it('fails when the store cannot be asked', async () => {
    const store = new TokenStore()
    const token = store.give()
    store.isDown = true
    await expect(createTokenFinder(store).find(token)).rejects.toThrow(StoreUnavailable)
  })
})
