import {
  FEED_KEY_STATEMENTS_MAX,
  type FeedKeyStatement,
  feedKeySha256,
  formatTime,
  generatePrivateKey,
  type PrivateKey,
  signFeedKeyStatement,
} from '@countersign/core'

export interface FeedKey {
  readonly kid: string
  readonly key: PrivateKey
}

/**
 * The feed keys of a test site, with the chain of statements that discovery lists. The next key is
 * always prepared.
 */
export interface TestFeedKeys {
  readonly current: FeedKey
  readonly next: FeedKey
  readonly chain: readonly FeedKeyStatement[]
  /** Brings the next key into use at once. */
  rotate(atMs: number, options?: { readonly compromised?: boolean }): Promise<void>
}

export async function createTestFeedKeys(atMs: number): Promise<TestFeedKeys> {
  const make = async (): Promise<FeedKey> => {
    const key = await generatePrivateKey('Ed25519')
    return { kid: key.publicKey.multikey, key }
  }
  const state = async (
    key: FeedKey,
    following: FeedKey,
    before: FeedKey | undefined,
    at: number,
    compromised: boolean,
  ) =>
    signFeedKeyStatement(
      {
        kid: key.kid,
        public_key_multibase: key.key.publicKey.multikey,
        next_sha256: await feedKeySha256(following.key.publicKey),
        previous_kid: before?.kid ?? null,
        previous_compromised: compromised,
        at: formatTime(at),
      },
      key.key,
      before?.key,
    )
  let current = await make()
  let next = await make()
  let chain: readonly FeedKeyStatement[] = [await state(current, next, undefined, atMs, false)]
  return {
    get current() {
      return current
    },
    get next() {
      return next
    },
    get chain() {
      return chain
    },
    async rotate(at, { compromised = false } = {}) {
      const before = current
      current = next
      next = await make()
      chain = [...chain, await state(current, next, before, at, compromised)].slice(-FEED_KEY_STATEMENTS_MAX)
    },
  }
}
