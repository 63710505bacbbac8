import { formatTime } from '@countersign/core'
import type { AuditActorFilter, AuditRow as AuditBody } from '@countersign/core/contract'
import { type AuditRow, toAuditOutcome } from '../store/audit-rows.ts'

/** A row of the audit as lists and exports show it. */
export function toAuditBody({ id, siteId, action, target, detail, context }: AuditRow): AuditBody {
  const { reason, seq } = detail
  return {
    audit_id: id,
    at: formatTime(context.atMs),
    site_id: siteId,
    actor: toActorBody(context.actor),
    action,
    target: target ?? null,
    outcome: toAuditOutcome(detail),
    reason: typeof reason === 'string' ? reason : null,
    seq: typeof seq === 'number' ? seq : null,
    request_id: context.requestId ?? null,
  }
}

type ActorType = AuditBody['actor']['type']

/** By the words that the store has, as `auditContext` writes them. */
const ACTORS: Readonly<Record<string, ActorType>> = {
  operator: 'operator',
  key: 'api_key',
  holder: 'holder',
  user: 'holder',
  page: 'page',
  sender: 'sender',
  person: 'person',
  anonymous: 'anonymous',
}

/** What kind of actor and, after a colon, which. */
export function toActorBody(actor: string): AuditBody['actor'] {
  const colon = actor.indexOf(':')
  const kind = colon === -1 ? actor : actor.slice(0, colon)
  return { type: ACTORS[kind] ?? 'service', id: colon === -1 ? null : actor.slice(colon + 1) }
}

/** An actor with an id, as the store has it. */
export function toStoredActor(type: AuditActorFilter['type'], id: string): string {
  const [kind] = Object.entries(ACTORS).find(([, each]) => each === type) ?? ['system']
  return `${kind}:${id}`
}
