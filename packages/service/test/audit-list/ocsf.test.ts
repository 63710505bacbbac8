import { type AuditRow, auditActorTypes } from '@countersign/core/contract'
import { describe, expect, it } from 'vitest'
import { toOcsfEvent } from '../../src/audit-list/ocsf.ts'
import { AUDIT_REJECTED } from '../../src/store/audit-rows.ts'

const row: AuditRow = {
  audit_id: 'audit_1',
  at: '2026-11-14T12:00:00.250Z',
  site_id: 'shop.example',
  actor: { type: 'api_key', id: 'key_1' },
  action: 'user.revoke',
  target: 'did:service:ppid_12345678',
  outcome: 'done',
  reason: 'left the company',
  seq: 42,
  request_id: 'req-1',
}
const event = (change: Partial<AuditRow> = {}) => toOcsfEvent({ ...row, ...change })

describe('the audit as OCSF events', () => {
  it('actions on users are Account Changes', () => {
    expect(event()).toMatchObject({
      metadata: {
        version: '1.3.0',
        product: { name: 'Countersign', vendor_name: 'Countersign' },
        uid: 'audit_1',
        correlation_uid: 'req-1',
        event_code: 'user.revoke',
      },
      category_uid: 3,
      class_uid: 3001,
      activity_id: 5,
      type_uid: 300105,
      time: Date.parse('2026-11-14T12:00:00.250Z'),
      severity_id: 1,
      status_id: 1,
      actor: { app_name: 'api_key', app_uid: 'key_1' },
      user: { uid: 'did:service:ppid_12345678' },
      unmapped: { site_id: 'shop.example', seq: 42, reason: 'left the company' },
    })
    expect(event({ action: 'user.reinstate' })).toMatchObject({ activity_id: 2, type_uid: 300102 })
    expect(event({ action: 'user.erase' })).toMatchObject({ activity_id: 6 })
    expect(event({ action: 'user.sign_out' })).toMatchObject({ activity_id: 99, activity_name: 'sign_out' })
  })

  it('all others are Entity Management, with the reason as comment', () => {
    const change = { action: 'webhook.create', target: 'wh_1' }
    expect(event(change)).toMatchObject({
      class_uid: 3004,
      activity_id: 1,
      type_uid: 300401,
      entity: { type: 'webhook', uid: 'wh_1' },
      comment: 'left the company',
    })
    expect(event({ action: 'issuer.change' })).toMatchObject({ type_uid: 300403 })
    expect(event({ action: 'api_key.delete' })).toMatchObject({ type_uid: 300404 })
    expect(event({ action: 'credential.revoke' })).toMatchObject({
      type_uid: 300499,
      activity_name: 'revoke',
      type_name: 'Entity Management: Other',
    })
    expect(event({ action: 'key.constructor', target: null })).toMatchObject({
      activity_id: 99,
      entity: { type: 'key', name: 'key' },
    })
  })

  it('people are users, and programs are applications', () => {
    const actorOf = (type: AuditRow['actor']['type']) => event({ actor: { type, id: 'x' } }).actor
    expect(actorOf('person')).toEqual({ user: { type_id: 1, type: 'User', uid: 'x' } })
    expect(actorOf('operator')).toEqual({ user: { type_id: 2, type: 'Admin', uid: 'x' } })
    expect(actorOf('api_key')).toEqual({ app_name: 'api_key', app_uid: 'x' })
  })

  it('has what the schema requires, for every actor and outcome', () => {
    for (const type of auditActorTypes)
      for (const id of ['x', null])
        for (const outcome of ['done', 'unchanged', AUDIT_REJECTED] as const)
          for (const action of ['user.revoke', 'site.create']) {
            const made = event({
              actor: { type, id },
              outcome,
              action,
              target: null,
              reason: null,
              request_id: null,
            })
            for (const name of [
              'activity_id',
              'category_uid',
              'class_uid',
              'metadata',
              'severity_id',
              'time',
              'type_uid',
            ])
              expect(made[name]).toBeDefined()
            expect(made.status_id).toBe(outcome === AUDIT_REJECTED ? 2 : 1)
            const actor = made.actor as { user?: { uid?: string; name?: string }; app_name?: string }
            expect(actor.user?.uid ?? actor.user?.name ?? actor.app_name).toBeTypeOf('string')
            expect(made.user ?? made.entity).toBeDefined()
            expect(JSON.stringify(made)).not.toContain('undefined')
          }
  })
})
