import type {
  ChangedIssuer,
  LogEntry,
  PreviewAct,
  Revocation,
  RevocationTarget,
  RevokedTargets,
  TokenRevocation,
} from '@countersign/core/contract'
import { type ApiRequest, type Call, call } from '../api/call.ts'
import { toCli } from '../api/command.ts'
import { callWithStepUp } from '../people/step-up.tsx'
import { say, sayCount } from '../say.ts'

/**
 * What will be revoked. `name` is what people call it. The name of a user is what was typed: it is
 * in no address and is not stored.
 */
export type Target =
  | { readonly kind: 'user'; readonly id: string; readonly name?: string | undefined }
  | { readonly kind: 'credential'; readonly id: string }
  | { readonly kind: 'token'; readonly id: string }
  | { readonly kind: 'issuer'; readonly issuer: string; readonly id: string; readonly name: string }
  | {
      readonly kind: 'issuer_key'
      readonly issuer: string
      /** The issuer_id. */
      readonly id: string
      readonly key: string
      readonly status: 'retired' | 'compromised'
    }
  | { readonly kind: 'api_key'; readonly id: string; readonly name: string }
  | { readonly kind: 'bearer' }
  | {
      /** An act of another sheet, whose receipt is shown here: a cut-off, a sign-out, a switch. */
      readonly kind: 'change'
      readonly title: string
      readonly id: string | undefined
      /** As in "This cut-off is durable". */
      readonly subject: string
      readonly done: string
      readonly request: ApiRequest
      readonly cli: string | undefined
    }
  | {
      readonly kind: 'many'
      readonly noun: 'users' | 'credentials' | 'tokens'
      readonly targets: readonly RevocationTarget[]
      /** `chosen`: these rows. `matching`: everything that matches the filter. */
      readonly choice: 'chosen' | 'matching'
    }

export interface DoneEntry {
  readonly seq: number
  readonly id: string
}

/** What is certain after the durable answer. */
export interface Done {
  /** The last log entry; undefined if the act appended none. */
  readonly seq: number | undefined
  /** All of them, each with the ids that it is about. A user can have several ids. */
  readonly entries: readonly DoneEntry[]
  readonly wasRevoked: boolean
  /** How many targets this act has revoked. */
  readonly count: number
  readonly notFound: number
}

/** As the API allows. */
const TARGETS_PER_REQUEST = 200

export function toTitle(target: Target): string {
  switch (target.kind) {
    case 'user':
      return target.name ?? say('User')
    case 'credential':
      return say('Credential')
    case 'token':
      return say('Token')
    case 'issuer':
    case 'api_key':
      return target.name
    case 'issuer_key':
      return say('Key {key}', { key: target.key })
    case 'bearer':
      return say('Bearer tokens')
    case 'change':
      return target.title
    case 'many':
      return countTargets(target.targets.length, target.noun)
  }
}

/** `1 user`, `3 tokens`. */
export function countTargets(count: number, noun: 'users' | 'credentials' | 'tokens'): string {
  if (noun === 'users') return sayCount(count, '{count} user', '{count} users')
  if (noun === 'tokens') return sayCount(count, '{count} token', '{count} tokens')
  return sayCount(count, '{count} credential', '{count} credentials')
}

/** The id below the title, if it is another. */
export function toId(target: Target): string | undefined {
  if (target.kind === 'bearer' || target.kind === 'many') return undefined
  return 'issuer' in target ? target.issuer : target.id
}

/** The words of the button, of the heading, and of what is true afterwards. */
export function toWords(target: Target): {
  readonly act: string
  readonly busy: string
  readonly done: string
} {
  switch (target.kind) {
    case 'issuer':
      return {
        act: say('Distrust issuer'),
        busy: say('Distrusting…'),
        done: say('Distrusted'),
      }
    case 'issuer_key':
      return target.status === 'retired'
        ? { act: say('Retire key'), busy: say('Retiring…'), done: say('Retired') }
        : { act: say('Mark as compromised'), busy: say('Marking…'), done: say('Compromised') }
    case 'api_key':
      return {
        act: say('Delete API key'),
        busy: say('Deleting…'),
        done: say('Deleted'),
      }
    case 'bearer':
      return {
        act: say('Switch bearer off'),
        busy: say('Switching off…'),
        done: say('Off'),
      }
    case 'change':
      return { act: target.title, busy: say('Sending…'), done: target.done }
    case 'many':
      return {
        act: say('Revoke {target}', { target: toTitle(target) }),
        busy: say('Revoking…'),
        done: say('Revoked'),
      }
    default:
      return { act: say('Revoke access'), busy: say('Revoking…'), done: say('Revoked') }
  }
}

const KEY_TYPED_MAX = 20

/** What must be typed to confirm. Undefined: Enter confirms. */
export function toTypedName(siteId: string, target: Target): string | undefined {
  switch (target.kind) {
    case 'issuer':
    case 'api_key':
      return target.name
    case 'issuer_key':
      // A key that is its own name is too long to type.
      return target.key.length > KEY_TYPED_MAX ? target.key.slice(-8) : target.key
    case 'bearer':
    case 'many':
      return siteId
    default:
      return undefined
  }
}

/** Exactly the name: no other case, no space around it, nothing else that begins like it. */
export function isTyped(typed: string, name: string): boolean {
  return typed.normalize('NFC') === name.normalize('NFC')
}

export function toPreviewActs(target: Target): readonly PreviewAct[] {
  switch (target.kind) {
    case 'user':
      return [{ type: 'revoke_user', ...namedUser(target) }]
    case 'credential':
      return [{ type: 'revoke_credential', credential_id: target.id }]
    case 'token':
      return [{ type: 'revoke_token', token_id: target.id }]
    case 'issuer':
      return [{ type: 'distrust_issuer', issuer: target.issuer }]
    case 'issuer_key':
      return [{ type: 'change_issuer_key', issuer: target.issuer, key: target.key, status: target.status }]
    case 'api_key':
      return [{ type: 'delete_key', key_id: target.id }]
    case 'bearer':
      return [{ type: 'change_site', bearer: 'off' }]
    case 'change':
      return []
    case 'many':
      return toParts(target.targets).map((targets) => ({ type: 'revoke_targets', targets: [...targets] }))
  }
}

/** A name means all ids of the user, also those at other issuers. */
function namedUser({ id, name }: Extract<Target, { kind: 'user' }>): { ppid: string } | { user_ref: string } {
  return name === undefined ? { ppid: id } : { user_ref: name }
}

/** How many requests the act needs. Each has an idempotency key of its own. */
export function countRequests(target: Target): number {
  return target.kind === 'many' ? toParts(target.targets).length : 1
}

function toParts(targets: readonly RevocationTarget[]): readonly (readonly RevocationTarget[])[] {
  const count = Math.ceil(targets.length / TARGETS_PER_REQUEST)
  return Array.from({ length: count }, (_, i) =>
    targets.slice(i * TARGETS_PER_REQUEST, (i + 1) * TARGETS_PER_REQUEST),
  )
}

/** A request of the act: what is sent, and what is shown as a command. */
export function toRequest(siteId: string, target: Target, reason: string, part = 0): ApiRequest {
  const site = `/api/sites/${encodeURIComponent(siteId)}`
  const post = (path: string, body: object) => ({ method: 'POST', path, body: { ...body, reason } }) as const
  const patch = (path: string, body: object) =>
    ({ method: 'PATCH', path, body: { ...body, reason } }) as const
  switch (target.kind) {
    case 'user':
      return post('/api/wallet/revoke-user', { ...namedUser(target), site_id: siteId })
    case 'credential':
      return post('/api/wallet/revoke', { credential_id: target.id, site_id: siteId })
    case 'token':
      return post(`${site}/tokens/${encodeURIComponent(target.id)}/revoke`, {})
    case 'issuer':
      return patch(`${site}/issuers/${encodeURIComponent(target.id)}`, { status: 'distrusted' })
    case 'issuer_key':
      return patch(
        `${site}/issuers/${encodeURIComponent(target.id)}/keys/${encodeURIComponent(target.key)}`,
        { status: target.status },
      )
    case 'api_key':
      return { method: 'DELETE', path: `${site}/keys/${encodeURIComponent(target.id)}`, reason }
    case 'bearer':
      return patch(site, { bearer: 'off' })
    case 'change':
      return target.request
    case 'many':
      return post(`${site}/revocations`, { targets: toParts(target.targets)[part] ?? [] })
  }
}

/** The same on the command line. Undefined for a bulk act, which needs a file. */
export function toCommand(siteId: string, target: Target, reason: string): string | undefined {
  const options = { site: siteId, yes: true, reason }
  switch (target.kind) {
    case 'user':
      return toCli(['revoke-user', target.name ?? target.id], options)
    case 'credential':
      return toCli(['revoke', target.id], options)
    case 'token':
      return toCli(['tokens', 'revoke', target.id], options)
    case 'issuer':
      return toCli(['issuers', 'change', target.issuer], { status: 'distrusted', ...options })
    case 'issuer_key':
      return toCli(['issuers', 'change-key', target.issuer, target.key], {
        status: target.status,
        ...options,
      })
    case 'api_key':
      return toCli(['keys', 'delete', target.id], options)
    case 'bearer':
      return toCli(['sites', 'change', siteId], { bearer: 'off', yes: true, reason })
    case 'change':
      return target.cli
    case 'many':
      return undefined
  }
}

/** Sends one request of the act, and reads from the answer what is certain. */
export async function sendPart(
  siteId: string,
  target: Target,
  reason: string,
  part: number,
  options: Pick<Call, 'idempotencyKey' | 'timeoutMs'>,
): Promise<Done> {
  const { path, ...request } = toRequest(siteId, target, reason, part)
  const sent: Call = { ...options, ...request, site: siteId }
  switch (target.kind) {
    case 'user':
    case 'credential': {
      const { seq, already_revoked, entries } = await call<Revocation>(path, sent)
      return {
        seq,
        entries: entries?.map((each) => ({ seq: each.seq, id: each.ppid })) ?? [{ seq, id: target.id }],
        wasRevoked: already_revoked,
        count: already_revoked ? 0 : 1,
        notFound: 0,
      }
    }
    case 'token': {
      const { seq, revoked } = await call<TokenRevocation>(path, sent)
      return {
        ...toOne(seq ?? undefined, target.id),
        count: revoked ? 1 : 0,
        notFound: revoked ? 0 : 1,
      }
    }
    case 'many': {
      const answer = await callWithStepUp<RevokedTargets>(path, sent)
      return {
        seq: answer.results.some((each) => each.seq !== null) ? answer.seq : undefined,
        entries: answer.results.flatMap(({ seq, ids, outcome }) =>
          seq === null || outcome !== 'revoked' ? [] : [{ seq, id: ids[0] ?? '' }],
        ),
        wasRevoked: answer.revoked === 0 && answer.already_revoked > 0,
        count: answer.revoked,
        notFound: answer.not_found,
      }
    }
    case 'api_key':
      await callWithStepUp<undefined>(path, sent)
      return toOne(undefined, target.id)
    default: {
      await callWithStepUp<ChangedIssuer>(path, sent)
      return toOne(await findEntry(siteId, target), toId(target) ?? siteId)
    }
  }
}

/** An act with one entry at most. */
export function toOne(seq: number | undefined, id: string): Done {
  return { seq, entries: seq === undefined ? [] : [{ seq, id }], wasRevoked: false, count: 1, notFound: 0 }
}

/** The entry of a change of trust, which its answer does not name: the newest with this body. */
async function findEntry(siteId: string, target: Target): Promise<number | undefined> {
  switch (target.kind) {
    case 'issuer':
      return findNewest(siteId, 'issuer.distrusted', { issuer: target.issuer })
    case 'issuer_key':
      return findNewest(siteId, `key.${target.status}`, {
        issuer: target.issuer,
        key_id: target.key,
      })
    default:
      return findNewest(siteId, 'site.changed', { bearer: 'off' })
  }
}

/** The newest entry of this kind whose body has these members. */
export async function findNewest(
  siteId: string,
  kind: LogEntry['kind'],
  members: Readonly<Record<string, string>>,
): Promise<number | undefined> {
  const { items } = await call<{ items: readonly LogEntry[] }>(`/api/sites/${siteId}/log`, {
    site: siteId,
    query: { kind, limit: 20 },
  })
  return items.find(({ body }) =>
    Object.entries(members).every(([name, value]) => (body as Record<string, unknown>)[name] === value),
  )?.seq
}
