import {
  type CompromisedKey,
  type ConfirmedHead,
  checkEntry,
  createEntry,
  type Entry,
  type EntryBodies,
  type EntryKind,
  encodeBase64url,
  formatTime,
  GENESIS_HASH,
  type IssuerLine,
  type IssuerState,
  type KeyState,
  type LogHead,
  type OAuthIssuerState,
  type SiteId,
  type SiteLine,
  SiteView,
  type SnapshotLine,
  type SubjectKey,
  type UserLine,
} from '@countersign/core'

/** A site's log in memory, with the view that the service itself would have of it. */
export interface TestLog {
  readonly head: LogHead
  readonly entries: readonly Entry[]
  readonly view: SiteView
  append<Kind extends EntryKind>(kind: Kind, body: EntryBodies[Kind], atMs: number): Promise<Entry>
  /** What a snapshot says between its head and its end. */
  lines(): SnapshotLine[]
  proof(asOfMs: number): ConfirmedHead
}

/** Creates an empty log. Without `subjectKey` the site accepts no tokens of OAuth issuers. */
export function createTestLog(siteId: SiteId, epoch: string, subjectKey?: SubjectKey): TestLog {
  const entries: Entry[] = []
  const view = new SiteView({ siteId, entriesAreProven: true })
  view.subjectKey = subjectKey
  let head: LogHead = { epoch, seq: 0, hash: GENESIS_HASH }
  return {
    get head() {
      return head
    },
    entries,
    view,
    async append(kind, body, atMs) {
      const entry = (await createEntry({ siteId, kind, body, at: formatTime(atMs) }, head)) as Entry
      const checked = await checkEntry(entry)
      if (checked === undefined || view.apply(checked) !== 'applied')
        throw new TypeError(`a log cannot go on with ${kind}`)
      entries.push(entry)
      head = { epoch, seq: entry.seq, hash: entry.hash }
      return entry
    },
    lines: () => snapshotLines(entries, subjectKey),
    proof: (asOfMs) => ({ siteId, ...head, asOfMs, maxAgeSeconds: 60 }),
  }
}

interface OAuthIssuerSoFar {
  state: OAuthIssuerState
  distrustedAt: string | null
}

interface IssuerSoFar {
  state: IssuerState
  distrustedAt: string | null | undefined
  readonly compromised: CompromisedKey[]
}

/** The state that these entries lead to, in the lines of a snapshot. */
export function snapshotLines(entries: readonly Entry[], subjectKey?: SubjectKey): SnapshotLine[] {
  let site: SiteLine | undefined
  const oauthIssuers = new Map<string, OAuthIssuerSoFar>()
  const issuers = new Map<string, IssuerSoFar>()
  const users = new Map<string, UserLine>()
  const rest: SnapshotLine[] = []
  const ensureIssuer = (issuer: string): IssuerSoFar => {
    const known = issuers.get(issuer)
    if (known !== undefined) return known
    const unknown = {
      state: { issuer, keys: [], scope: null, credential_ttl_seconds_max: null },
      distrustedAt: null,
      compromised: [],
    }
    issuers.set(issuer, unknown)
    return unknown
  }
  const replaceKey = (known: IssuerSoFar, id: string, replace: (key: KeyState) => KeyState) => {
    known.state = {
      ...known.state,
      keys: known.state.keys.map((key) => (key.id === id ? replace(key) : key)),
    }
  }

  for (const { kind, body, at } of entries) {
    if ('issuer' in body && /^https?:/.test(body.issuer) && applyToOAuthIssuer(oauthIssuers, kind, body, at))
      continue
    switch (kind) {
      case 'site.changed': {
        const offAt = body.bearer === 'off' || site?.bearer === 'off' ? at : site?.bearer_off_at
        site = { type: 'site', ...body, ...(offAt === undefined ? {} : { bearer_off_at: offAt }) }
        break
      }
      case 'issuer.trusted': {
        const known = ensureIssuer(body.issuer)
        known.state = body
        known.distrustedAt = undefined
        for (const { id, key, status } of body.keys)
          if (status === 'compromised') known.compromised.push({ key_id: id, key, at })
        break
      }
      case 'issuer.distrusted': {
        const known = ensureIssuer(body.issuer)
        known.distrustedAt ??= at
        break
      }
      case 'key.retired':
        replaceKey(ensureIssuer(body.issuer), body.key_id, (key) =>
          key.status === 'active'
            ? { id: key.id, key: key.key, status: 'retired', retired_at: body.at }
            : key,
        )
        break
      case 'key.compromised': {
        const known = ensureIssuer(body.issuer)
        const key = known.state.keys.find(({ id }) => id === body.key_id)?.key ?? null
        known.compromised.push({ key_id: body.key_id, key, at: body.at })
        replaceKey(known, body.key_id, ({ id, key }) => ({ id, key, status: 'compromised' }))
        break
      }
      case 'user.revoked': {
        const { ppid, revoked_at } = body
        const known = users.get(ppid)
        if (known === undefined) users.set(ppid, { type: 'user', ppid, revoked_at })
        else if (known.reinstated_at !== undefined && known.revoked_again_at === undefined)
          users.set(ppid, { ...known, revoked_again_at: revoked_at })
        break
      }
      case 'user.reinstated': {
        const known = users.get(body.ppid)
        if (known !== undefined) {
          const { revoked_again_at: _, ...before } = known
          users.set(body.ppid, { ...before, reinstated_at: body.reinstated_at })
        }
        break
      }
      case 'credential.revoked':
        rest.push({ type: 'credential', ...body })
        break
      case 'token.revoked':
        rest.push({ type: 'token', ...body })
        break
      case 'holder.revoked':
        rest.push({ type: 'holder', ...body })
        break
      case 'user.signed_out':
        rest.push({ type: 'signed_out', ...body })
        break
      case 'issuer.cut_off':
        rest.push({ type: 'cut_off', ...body })
        break
      case 'site.cut_off':
        rest.push({ type: 'cut_off', issuer: null, ...body })
    }
  }
  const key = subjectKey && { subject_key: encodeBase64url(subjectKey) }
  return [
    ...(site === undefined ? [] : [{ ...site, ...key }]),
    ...[...issuers.values()].map(issuerLine),
    ...[...oauthIssuers.values()].flatMap(oauthIssuerLines),
    ...users.values(),
    ...rest,
  ]
}

function issuerLine({ state, distrustedAt, compromised }: IssuerSoFar): IssuerLine {
  const line = { type: 'issuer', ...state, compromised } as const
  return distrustedAt === undefined
    ? { ...line, status: 'trusted' }
    : { ...line, status: 'distrusted', distrusted_at: distrustedAt }
}

/** Applies an entry about an OAuth issuer. Returns false for a kind that is not about its trust. */
function applyToOAuthIssuer(
  issuers: Map<string, OAuthIssuerSoFar>,
  kind: EntryKind,
  body: EntryBodies[EntryKind],
  at: string,
): boolean {
  if (kind === 'oauth_issuer.trusted') {
    const state = body as OAuthIssuerState
    issuers.set(state.issuer, { state, distrustedAt: null })
    return true
  }
  if (kind !== 'issuer.distrusted' && kind !== 'key.compromised' && kind !== 'key.retired') return false
  const { issuer, key_id: keyId } = body as EntryBodies['key.retired']
  const known = issuers.get(issuer)
  if (known === undefined) return true
  if (kind === 'issuer.distrusted') known.distrustedAt ??= at
  else {
    const change = kind === 'key.retired' ? { status: 'retired', retired_at: at } : { status: 'compromised' }
    const keys = known.state.keys.map(({ retired_at: _, ...key }) =>
      key.id === keyId && key.status !== 'compromised' ? { ...key, ...change } : key,
    )
    known.state = { ...known.state, keys: keys as OAuthIssuerState['keys'] }
  }
  return true
}

function oauthIssuerLines({ state, distrustedAt }: OAuthIssuerSoFar): SnapshotLine[] {
  return [{ type: 'oauth_issuer', state, distrusted_at: distrustedAt }]
}
