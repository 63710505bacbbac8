import { parseTime } from '../../src/encoding/rfc3339.ts'
import type { EntryBodies, IssuerState } from '../../src/log/entry.ts'
import { isOAuthIssuer, type OAuthIssuerState } from '../../src/log/oauth-issuer.ts'
import type {
  CompromisedKey,
  IssuerLine,
  SnapshotHead,
  SnapshotLine,
  UserLine,
} from '../../src/log/snapshot.ts'
import { at, EPOCH, GENESIS, type Saying, SITE, toMs } from './log-sample.ts'

/**
 * A simple and slow model of a view: it keeps all entries and searches all of them for each answer.
 * It can also write a snapshot, like the store of a service.
 */
export class PlainSite {
  readonly #sayings: (Saying & { readonly at: string })[] = []

  say(saying: Saying & { readonly at: string }): void {
    this.#sayings.push(saying)
  }

  #bodies<Kind extends keyof EntryBodies>(kind: Kind): EntryBodies[Kind][] {
    return this.#sayings.filter((saying) => saying.kind === kind).map(({ body }) => body as EntryBodies[Kind])
  }

  credentialSince(id: string): number | undefined {
    return earliest(
      this.#bodies('credential.revoked')
        .filter((body) => body.credential_id === id)
        .map((body) => body.revoked_at),
    )
  }

  tokenSince(hash: string): number | undefined {
    return earliest(
      this.#bodies('token.revoked')
        .filter((body) => body.token_sha256 === hash)
        .map((body) => body.revoked_at),
    )
  }

  userSince(ppid: string, createdMs: number): number | undefined {
    return this.#revokedSince(ppid, createdMs) ?? this.#signedOutSince(ppid, createdMs)
  }

  #signedOutSince(ppid: string, createdMs: number): number | undefined {
    const before = latest(
      this.#bodies('user.signed_out')
        .filter((body) => body.ppid === ppid)
        .map((body) => body.before),
    )
    return before === undefined || createdMs > before ? undefined : before
  }

  #revokedSince(ppid: string, createdMs: number): number | undefined {
    const { first, cutoffMs, again, isOpen } = this.#user(ppid)
    if (first === undefined) return undefined
    if (createdMs <= cutoffMs || cutoffMs === Number.NEGATIVE_INFINITY) return first
    return isOpen ? again : undefined
  }

  #user(ppid: string) {
    const events = this.#sayings.flatMap(({ kind, body }) => {
      if (kind === 'user.revoked' && body.ppid === ppid) return [{ revoked: true, time: body.revoked_at }]
      if (kind === 'user.reinstated' && body.ppid === ppid)
        return [{ revoked: false, time: body.reinstated_at }]
      return []
    })
    const lastReinstatement = events.findLastIndex(({ revoked }) => !revoked)
    const revoked = events.filter((event) => event.revoked)
    return {
      first: earliest([...events.slice(0, 1), ...revoked].map(({ time }) => time)),
      cutoffMs: Math.max(
        Number.NEGATIVE_INFINITY,
        ...events.filter((e) => !e.revoked).map(({ time }) => Math.ceil(toMs(time) / 1000) * 1000),
      ),
      again: earliest(events.slice(lastReinstatement + 1).map(({ time }) => time)),
      isOpen: events.at(-1)?.revoked === true,
    }
  }

  /** The last settings of an issuer in the log, and whether it is trusted. */
  issuerState(issuer: string): {
    state: IssuerState | undefined
    isTrusted: boolean
    distrustedMs: number | undefined
  } {
    let state: IssuerState | undefined
    let distrusted: string[] = []
    let isTrusted = false
    for (const { kind, body, at: time } of this.#sayings) {
      if (kind === 'issuer.trusted' && body.issuer === issuer) {
        state = body
        distrusted = []
        isTrusted = true
      }
      if (kind === 'issuer.distrusted' && body.issuer === issuer) {
        distrusted.push(time)
        isTrusted = false
      }
      if (kind === 'key.retired' && body.issuer === issuer && state !== undefined) {
        const keys = state.keys.map((key) => {
          if (key.id !== body.key_id || key.status === 'compromised') return key
          const earlier =
            key.retired_at !== undefined && toMs(key.retired_at) < toMs(body.at) ? key.retired_at : body.at
          return { ...key, status: 'retired', retired_at: earlier } as const
        })
        state = { ...state, keys }
      }
    }
    return { state, isTrusted, distrustedMs: earliest(distrusted) }
  }

  /** Compromised names and key material, with the pairs in which they occurred, and since when. */
  compromised(): {
    names: Map<string, number>
    keys: Map<string, number>
    pairs: Map<string, { issuer: string; id: string; key: string | null }>
  } {
    const names = new Map<string, number>()
    const keys = new Map<string, number>()
    const pairs = new Map<string, { issuer: string; id: string; key: string | null }>()
    const listed = new Map<string, IssuerState>()
    const mark = (issuer: string, id: string, key: string | null, ms: number): boolean => {
      pairs.set(`${issuer}#${id} ${key}`, { issuer, id, key })
      const name = `${issuer}#${id}`
      const isNews = !(
        (names.get(name) ?? Infinity) <= ms &&
        (key === null || (keys.get(key) ?? Infinity) <= ms)
      )
      names.set(name, Math.min(names.get(name) ?? Infinity, ms))
      if (key !== null) keys.set(key, Math.min(keys.get(key) ?? Infinity, ms))
      return isNews
    }
    for (const { kind, body, at: time } of this.#sayings) {
      if (kind === 'issuer.trusted') {
        listed.set(body.issuer, body)
        for (const key of body.keys)
          if (key.status === 'compromised') mark(body.issuer, key.id, key.key, toMs(time))
      }
      if (kind === 'key.compromised' && !isOAuthIssuer(body.issuer)) {
        const key = listed.get(body.issuer)?.keys.find(({ id }) => id === body.key_id)
        mark(body.issuer, body.key_id, key?.key ?? null, toMs(body.at))
      }
      for (let isNews = true; isNews; ) {
        isNews = false
        for (const state of listed.values()) {
          for (const { id, key } of state.keys) {
            const ms = Math.min(names.get(`${state.issuer}#${id}`) ?? Infinity, keys.get(key) ?? Infinity)
            if (ms < Infinity && mark(state.issuer, id, key, ms)) isNews = true
          }
        }
      }
    }
    return { names, keys, pairs }
  }

  settings(): EntryBodies['site.changed'] | undefined {
    return this.#bodies('site.changed').at(-1)
  }

  snapshotHead(seq: number, hash = GENESIS): SnapshotHead {
    return {
      type: 'head',
      site_id: SITE,
      epoch: EPOCH,
      seq,
      hash,
      as_of: at(1_000_000),
      max_age_seconds: 60,
      base: { seq: 0, hash: GENESIS },
    }
  }

  snapshotLines(): SnapshotLine[] {
    const settings = this.settings()
    let wasOff = false
    const off = latest(
      this.#sayings.flatMap(({ kind, body, at: time }) => {
        if (kind !== 'site.changed') return []
        const isOffUntilNow = wasOff || body.bearer === 'off'
        wasOff = body.bearer === 'off'
        return isOffUntilNow ? [time] : []
      }),
    )
    const bearerOff = off === undefined ? {} : { bearer_off_at: toTime(off) }
    const lines: SnapshotLine[] = settings === undefined ? [] : [{ type: 'site', ...settings, ...bearerOff }]
    for (const { credential_id } of this.#bodies('credential.revoked')) {
      lines.push({
        type: 'credential',
        credential_id,
        revoked_at: toTime(this.credentialSince(credential_id)),
      })
    }
    for (const { token_sha256 } of this.#bodies('token.revoked')) {
      lines.push({ type: 'token', token_sha256, revoked_at: toTime(this.tokenSince(token_sha256)) })
    }
    const users = new Set(
      [...this.#bodies('user.revoked'), ...this.#bodies('user.reinstated')].map(({ ppid }) => ppid),
    )
    for (const ppid of users) {
      const { first, cutoffMs, again, isOpen } = this.#user(ppid)
      const line: UserLine = { type: 'user', ppid, revoked_at: toTime(first) }
      if (cutoffMs === Number.NEGATIVE_INFINITY) lines.push(line)
      else if (isOpen)
        lines.push({ ...line, reinstated_at: toTime(cutoffMs), revoked_again_at: toTime(again) })
      else lines.push({ ...line, reinstated_at: toTime(cutoffMs) })
    }
    return [...lines, ...this.#cutOffLines(), ...this.#oauthLines(), ...this.#issuerLines()]
  }

  #cutOffLines(): SnapshotLine[] {
    const signedOut = new Set(this.#bodies('user.signed_out').map(({ ppid }) => ppid))
    const holders = new Set(this.#bodies('holder.revoked').map(({ thumbprint }) => thumbprint))
    const issuers = new Set(this.#bodies('issuer.cut_off').map(({ issuer }) => issuer))
    const lines: SnapshotLine[] = []
    for (const ppid of signedOut) {
      const times = this.#bodies('user.signed_out').filter((body) => body.ppid === ppid)
      lines.push({ type: 'signed_out', ppid, before: toTime(latest(times.map(({ before }) => before))) })
    }
    for (const thumbprint of holders) {
      const times = this.#bodies('holder.revoked').filter((body) => body.thumbprint === thumbprint)
      const revoked_at = toTime(earliest(times.map((body) => body.revoked_at)))
      lines.push({ type: 'holder', thumbprint, revoked_at })
    }
    for (const issuer of issuers) {
      const times = this.#bodies('issuer.cut_off').filter((body) => body.issuer === issuer)
      lines.push({ type: 'cut_off', issuer, before: toTime(latest(times.map(({ before }) => before))) })
    }
    const before = latest(this.#bodies('site.cut_off').map((body) => body.before))
    if (before !== undefined) lines.push({ type: 'cut_off', issuer: null, before: toTime(before) })
    return lines
  }

  #oauthLines(): SnapshotLine[] {
    const states = new Map<string, { state: OAuthIssuerState; distrusted: string[] }>()
    const compromised = new Map<string, string[]>()
    const add = (id: string, time: string) => compromised.set(id, [...(compromised.get(id) ?? []), time])
    for (const { kind, body, at: time } of this.#sayings) {
      if (kind === 'oauth_issuer.trusted') {
        states.set(body.issuer, { state: body, distrusted: [] })
        for (const key of body.keys) if (key.status === 'compromised') add(key.id, time)
      }
      if (kind === 'issuer.distrusted') states.get(body.issuer)?.distrusted.push(time)
      if (kind === 'key.compromised' && isOAuthIssuer(body.issuer)) add(body.key_id, body.at)
      const known = kind === 'key.retired' ? states.get(body.issuer) : undefined
      if (kind === 'key.retired' && known !== undefined) {
        const keys = known.state.keys.map((key) => {
          if (key.id !== body.key_id || key.status === 'compromised') return key
          const earlier = key.retired_at !== undefined && toMs(key.retired_at) <= toMs(body.at)
          return earlier ? key : ({ ...key, status: 'retired', retired_at: body.at } as const)
        })
        states.set(body.issuer, { ...known, state: { ...known.state, keys } })
      }
    }
    return [
      ...[...states.values()].map(({ state, distrusted }) => {
        const since = earliest(distrusted)
        const distrusted_at = since === undefined ? null : toTime(since)
        return { type: 'oauth_issuer', state, distrusted_at } as const
      }),
      ...[...compromised].map(([key_id, times]) => {
        return { type: 'oauth_key', key_id, compromised_at: toTime(earliest(times)) } as const
      }),
    ]
  }

  #issuerLines(): IssuerLine[] {
    const { names, keys, pairs } = this.compromised()
    const issuers = new Set(
      this.#sayings.flatMap(({ kind, body }) =>
        'issuer' in body && kind !== 'issuer.cut_off' && !isOAuthIssuer(body.issuer) ? [body.issuer] : [],
      ),
    )
    return [...issuers].map((issuer) => {
      const { state, isTrusted, distrustedMs } = this.issuerState(issuer)
      const compromised: CompromisedKey[] = [...pairs.values()]
        .filter((pair) => pair.issuer === issuer)
        .map(({ id, key }) => ({
          key_id: id,
          key,
          at: toTime(Math.max(names.get(`${issuer}#${id}`) ?? 0, key === null ? 0 : (keys.get(key) ?? 0))),
        }))
      const all = {
        issuer,
        keys: state?.keys ?? [],
        scope: state?.scope ?? null,
        credential_ttl_seconds_max: state?.credential_ttl_seconds_max ?? null,
      }
      if (isTrusted) return { type: 'issuer', ...all, status: 'trusted', compromised }
      const distrusted_at = distrustedMs === undefined ? null : toTime(distrustedMs)
      return { type: 'issuer', ...all, status: 'distrusted', distrusted_at, compromised }
    })
  }
}

function earliest(times: readonly string[]): number | undefined {
  return times.length === 0 ? undefined : Math.min(...times.map(toMs))
}

function latest(times: readonly string[]): number | undefined {
  return times.length === 0 ? undefined : Math.max(...times.map(toMs))
}

function toTime(ms: number | undefined): string {
  const text = new Date(ms ?? Number.NaN).toISOString()
  if (parseTime(text) !== ms) throw new Error('a time was lost')
  return text
}
