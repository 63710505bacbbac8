import { parseTime } from '@countersign/core'
import type { AuditRow } from '@countersign/core/contract'
import { AUDIT_REJECTED } from '../store/audit-rows.ts'
import { SERVICE_VERSION } from '../version.ts'

/** The schema that these events follow: Open Cybersecurity Schema Framework, https://ocsf.io. */
const OCSF_VERSION = '1.3.0'
const CATEGORY = { category_uid: 3, category_name: 'Identity & Access Management' }
const ACCOUNT_CHANGE = { class_uid: 3001, class_name: 'Account Change' }
const ENTITY_MANAGEMENT = { class_uid: 3004, class_name: 'Entity Management' }
const OTHER = 99

type Activity = readonly [id: number, name: string]

/** What happens to the account of a user, by the second part of an action. */
const ACCOUNT_ACTIVITIES: Readonly<Record<string, Activity>> = {
  reinstate: [2, 'Enable'],
  revoke: [5, 'Disable'],
  erase: [6, 'Delete'],
}

const ENTITY_ACTIVITIES: Readonly<Record<string, Activity>> = {
  add: [1, 'Create'],
  create: [1, 'Create'],
  issue: [1, 'Create'],
  change: [3, 'Update'],
  rotate: [3, 'Update'],
  rotate_secret: [3, 'Update'],
  delete: [4, 'Delete'],
}

/**
 * A row as an event of OCSF: Account Change for actions on users, Entity Management for all others.
 * Members without a place in the schema are in `unmapped`.
 */
export function toOcsfEvent(row: AuditRow): Readonly<Record<string, unknown>> {
  const [kind = '', verb = kind] = row.action.split('.')
  const isUser = kind === 'user'
  const activities = isUser ? ACCOUNT_ACTIVITIES : ENTITY_ACTIVITIES
  const [activityId, activityName] = Object.hasOwn(activities, verb)
    ? (activities[verb] as Activity)
    : [OTHER, verb]
  const type = isUser ? ACCOUNT_CHANGE : ENTITY_MANAGEMENT
  const isDone = row.outcome !== AUDIT_REJECTED
  return {
    metadata: {
      version: OCSF_VERSION,
      product: { name: 'Countersign', vendor_name: 'Countersign', version: SERVICE_VERSION },
      uid: row.audit_id,
      event_code: row.action,
      log_name: 'audit',
      ...(row.request_id !== null && { correlation_uid: row.request_id }),
    },
    ...CATEGORY,
    ...type,
    type_uid: type.class_uid * 100 + activityId,
    type_name: `${type.class_name}: ${activityId === OTHER ? 'Other' : activityName}`,
    activity_id: activityId,
    activity_name: activityName,
    time: parseTime(row.at) ?? 0,
    severity_id: 1,
    severity: 'Informational',
    status_id: isDone ? 1 : 2,
    status: isDone ? 'Success' : 'Failure',
    status_detail: row.outcome,
    actor: toActor(row.actor),
    ...(isUser
      ? { user: { uid: row.target ?? 'unknown', type_id: 1, type: 'User' } }
      : { entity: { type: kind, ...(row.target === null ? { name: kind } : { uid: row.target }) } }),
    ...(!isUser && row.reason !== null && { comment: row.reason }),
    unmapped: { site_id: row.site_id, seq: row.seq, reason: row.reason },
  }
}

/** API keys and services are applications; people, holders and operators are users. */
function toActor({ type, id }: AuditRow['actor']): Readonly<Record<string, unknown>> {
  const isUser = type === 'person' || type === 'holder' || type === 'operator'
  const user = { type_id: type === 'operator' ? 2 : 1, type: type === 'operator' ? 'Admin' : 'User' }
  if (isUser) return { user: { ...user, ...(id === null ? { name: type } : { uid: id }) } }
  return { app_name: type, ...(id !== null && { app_uid: id }) }
}
