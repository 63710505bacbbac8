import type { SiteId } from '@countersign/core'
import { describe, expect, it } from 'vitest'
import { loadByStatus, updateAllStatuses } from '../../src/actions/list-statuses.ts'
import type { Deps } from '../../src/deps.ts'
import { createPairwiseSecret } from '../../src/keys/ids.ts'
import { pairwisePurpose } from '../../src/sealing/purposes.ts'
import { createSealer } from '../../src/sealing/sealer.ts'
import type { AuditSelection } from '../../src/store/audit-rows.ts'
import { toCredentialName, toEndName } from '../../src/store/credential-name.ts'
import { apiKeys } from '../../src/store/operations/api-keys.ts'
import { applyTimes } from '../../src/store/operations/apply-times.ts'
import { auditRows, selectAuditRows } from '../../src/store/operations/audit.ts'
import { consoleSessions } from '../../src/store/operations/console-sessions.ts'
import { classifyExpired } from '../../src/store/operations/credential-statuses.ts'
import {
  type CredentialRow,
  credentials,
  credentialsByEnd,
  type ListedStatus,
} from '../../src/store/operations/credentials.ts'
import { type DeliveryColumn, deliveries, siteDeliveries } from '../../src/store/operations/deliveries.ts'
import { departedReaders } from '../../src/store/operations/departed-readers.ts'
import { drills } from '../../src/store/operations/drills.ts'
import { formerVerifiers } from '../../src/store/operations/former-verifiers.ts'
import { issuers } from '../../src/store/operations/issuers.ts'
import { siteLogPage } from '../../src/store/operations/log-pages.ts'
import { committedBy } from '../../src/store/operations/log-times.ts'
import { nodes } from '../../src/store/operations/nodes.ts'
import { passkeys } from '../../src/store/operations/passkeys.ts'
import { people } from '../../src/store/operations/people.ts'
import { openReceipts, receipts } from '../../src/store/operations/receipts.ts'
import { selectLatestOfUser } from '../../src/store/operations/shared/credential-rows.ts'
import { entriesAfter } from '../../src/store/operations/shared/entries-after.ts'
import { sites } from '../../src/store/operations/sites.ts'
import { tokens } from '../../src/store/operations/tokens.ts'
import { knownUsers, userEntries } from '../../src/store/operations/user-history.ts'
import { tallySums } from '../../src/store/operations/verdict-tallies.ts'
import { webhooks } from '../../src/store/operations/webhooks.ts'
import type { SqlValue, Transaction } from '../../src/store/transaction.ts'
import { context, DAY, MASTER_KEY, NOW, newIssuer, newSite, ppid, seen } from './fixtures.ts'
import { forEachStoreWriter, type StoreWriter, withNode, withStore } from './store-writer.ts'

const sealSecret = (siteId: SiteId) =>
  createSealer(MASTER_KEY).seal(pairwisePurpose(siteId), createPairwiseSecret())

const BULK = 21_000
/** Each is classified, too. Very many more than a page, and than are classified at a time. */
const CREDENTIALS = 6000
const FEW = 60
const LIMIT = 50
const STEP = 1000
const STATUSES = ['active', 'expired', 'revoked'] as const satisfies ListedStatus[]

interface Statement {
  readonly sql: string
  readonly values: readonly SqlValue[]
}

/** The first statement of an operation. */
function firstStatement(operation: Transaction<unknown>): Statement {
  const { value } = operation.next()
  if (value === undefined || typeof value !== 'object' || !('sql' in (value as object)))
    throw new Error('the operation begins with no statement')
  return value as Statement
}

/** The operation from its second statement on. The first one jumps from key to key in the index. */
function readOneKey<Answer>(operation: Transaction<Answer>): Transaction<Answer> {
  operation.next()
  const second = operation.next([{ key_id: 'key_1' }])
  if (second.done === true) throw new Error('the operation has one statement')
  return (function* () {
    yield second.value
    return yield* operation
  })()
}

/** Every selection of audit rows that a list makes. */
function audits(siteId: SiteId): readonly AuditSelection[] {
  const columns = ['actor', 'action', 'target', 'request_id', 'outcome'] as const
  const by = columns.map((column) => ({ column, value: 'unchanged' }))
  const all: AuditSelection[] = []
  for (const order of ['newest', 'oldest'] as const)
    for (const fromMs of [undefined, 1]) {
      const range = { fromMs, toMs: fromMs && 2 ** 41, order }
      for (const site of [siteId, null, undefined]) all.push({ siteId: site, by: undefined, ...range })
      for (const site of [siteId, null]) all.push(...by.map((each) => ({ siteId: site, by: each, ...range })))
      all.push({ siteId: undefined, by: { column: 'request_id', value: 'x' }, ...range })
    }
  return all
}

interface PlanNode {
  readonly 'Node Type': string
  readonly 'Relation Name'?: string
  readonly 'Actual Rows'?: number
  readonly 'Actual Loops'?: number
  readonly 'Rows Removed by Filter'?: number
  readonly Plans?: readonly PlanNode[]
}

/** In a plan of SQLite. The few rows that a part of the statement has selected are no table. */
function isTableScan(step: string): boolean {
  return step.startsWith('SCAN') && !step.startsWith('SCAN latest')
}

/**
 * What is wrong with the way in which a store reads a page: it reads a whole table, sorts, or reads
 * many more rows than it returns. Undefined when it reads a page of an index.
 */
async function findFault(
  { place, sql }: StoreWriter,
  statement: Statement,
  constraints: readonly string[] = [],
): Promise<string | undefined> {
  if (place.kind === 'sqlite') {
    const plan = await sql(`EXPLAIN QUERY PLAN ${statement.sql}`, ...statement.values)
    const steps = plan
      .filter(({ parent, detail }) => parent === 0 || String(detail).startsWith('SCAN'))
      .map(({ detail }) => String(detail))
    // All of the filter must be in the index: what is filtered later was read before.
    const lacking = constraints.find((each) => !steps.some((step) => step.includes(each)))
    return lacking ?? steps.find((step) => isTableScan(step) || step.includes('B-TREE'))
  }
  const [answer] = await sql(`EXPLAIN (ANALYZE, FORMAT JSON) ${statement.sql}`, ...statement.values)
  const root = (answer?.['QUERY PLAN'] as unknown as { Plan: PlanNode }[] | undefined)?.[0]?.Plan
  if (root === undefined) throw new Error('there is no plan')
  const nodes: PlanNode[] = []
  const walk = (node: PlanNode, isInner: boolean): void => {
    // Sorting the one or two revocations of each row is not sorting the list.
    if (!isInner || node['Relation Name'] !== undefined) nodes.push(node)
    for (const each of node.Plans ?? []) walk(each, isInner || node['Node Type'] === 'Limit')
  }
  walk(root, false)
  const bad = nodes.find((node) => {
    const read =
      ((node['Actual Rows'] ?? 0) + (node['Rows Removed by Filter'] ?? 0)) * (node['Actual Loops'] ?? 1)
    // A table that is joined may be empty here, and `log` has one row.
    const isScan =
      node['Node Type'] === 'Seq Scan' &&
      node['Relation Name'] !== 'log' &&
      (read > 0 || constraints.length === 0)
    return isScan || node['Node Type'] === 'Sort' || read > 4 * LIMIT
  })
  return bad && JSON.stringify({ ...bad, Plans: undefined })
}

/**
 * The same for a statement that adds rows up: it may sort its groups, and reads no other rows than
 * those in its range.
 */
async function findExcess(
  { place, sql }: StoreWriter,
  statement: Statement,
  constraint: string,
  rowsMax: number,
): Promise<string | undefined> {
  if (place.kind === 'sqlite') {
    const plan = await sql(`EXPLAIN QUERY PLAN ${statement.sql}`, ...statement.values)
    const steps = plan.map(({ detail }) => String(detail))
    const isRange = steps.some((step) => step.startsWith('SEARCH') && step.includes(constraint))
    return isRange && !steps.some(isTableScan) ? undefined : steps.join('; ')
  }
  const [answer] = await sql(`EXPLAIN (ANALYZE, FORMAT JSON) ${statement.sql}`, ...statement.values)
  const root = (answer?.['QUERY PLAN'] as unknown as { Plan: PlanNode }[] | undefined)?.[0]?.Plan
  if (root === undefined) throw new Error('there is no plan')
  const walk = (node: PlanNode): readonly PlanNode[] => [node, ...(node.Plans ?? []).flatMap(walk)]
  const bad = walk(root).find((node) => {
    const read = (node['Actual Rows'] ?? 0) + (node['Rows Removed by Filter'] ?? 0)
    return node['Relation Name'] !== undefined && (node['Node Type'] === 'Seq Scan' || read > rowsMax)
  })
  return bad && JSON.stringify({ ...bad, Plans: undefined })
}

/** Copies a known credential `count` times, with ids and times of their own. */
async function copy({ sql }: StoreWriter, id: string, name: string, count: number): Promise<void> {
  const numbers = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${count})`
  const columns = 'site_id, ppid, issuer, scope, permission_id'
  const times = 'created, valid_from, valid_until, holder_bound, source'
  await sql(
    `INSERT INTO credentials (${columns}, ${times}, credential_id, chain, known_at)
     ${numbers} SELECT ${columns}, ${times}, '${name}' || n.i, replace(chain, credential_id, '${name}' || n.i), known_at + n.i
     FROM credentials, n WHERE credential_id = $1`,
    id,
  )
}

/**
 * A site with very many credentials of one status between a few of each of the others, all of one
 * user. The log revokes some by a cut-off of their issuer.
 */
async function fill(
  writer: StoreWriter,
  { store, clock, views }: Pick<Deps, 'store' | 'clock' | 'views'>,
  bulk: ListedStatus,
): Promise<{ siteId: SiteId; user: CredentialRow['ppid'] }> {
  const { siteId } = newSite()
  const nowMs = clock.nowMs()
  await store.createSite(newSite({ siteId, pairwiseSecretSealed: sealSecret(siteId) }), context(nowMs))
  const bad = await newIssuer(siteId)
  await store.addIssuer(bad, context(nowMs))
  const user = ppid()
  let at = nowMs - 10 * DAY
  const add = async (status: ListedStatus, count: number) => {
    const template = seen(siteId, {
      ppid: user,
      createdMs: nowMs - 60_000,
      validUntilMs: status === 'expired' ? nowMs - 1000 : nowMs + DAY,
      ...(status === 'revoked' && { issuer: bad.issuer }),
    })
    await store.recordCredentials([template], at)
    await copy(writer, template.credentialId, `cred_${status}-${at}-`, count - 1)
    at += count
  }
  for (const status of STATUSES) if (status !== bulk) await add(status, FEW)
  await add(bulk, CREDENTIALS)
  for (const status of STATUSES) if (status !== bulk) await add(status, FEW)
  const body = { issuer: bad.issuer, before: new Date(nowMs).toISOString().replace(/\.\d+Z/, 'Z') }
  await store.cutOff(
    { siteId, kind: 'issuer.cut_off', body, target: bad.issuer, reason: undefined },
    context(nowMs),
  )
  await views.waitFor(await store.logPosition())
  await updateAllStatuses({ store, clock, views })
  if (writer.place.kind === 'postgres') await writer.sql('ANALYZE')
  return { siteId, user }
}

forEachStoreWriter('lists with filters', (newWriter) => {
  it.each(STATUSES)(
    'read a page of an index, with 6,000 credentials that are %s in between',
    { tags: 'long', timeout: 300_000 },
    async (bulk) => {
      const writer = await newWriter()
      await withNode(writer, async (store, { deps }) => {
        const { siteId, user } = await fill(writer, deps, bulk)
        for (const status of STATUSES) {
          const all: CredentialRow[] = []
          for (let after: string | undefined; ; ) {
            const filter = { ppid: all.length % 2000 === 0 ? user : undefined, status }
            const page = await loadByStatus(deps, siteId, filter, { after, limit: STEP })
            // Every page is full, except for the last one.
            all.push(...page)
            if (page.length < STEP) break
            after = toCredentialName(page[STEP - 1] as CredentialRow)
          }
          expect(all).toHaveLength(status === bulk ? CREDENTIALS : 2 * FEW)
          expect(new Set(all.map(({ credentialId }) => credentialId)).size).toBe(all.length)
          const times = all.map(({ knownAtMs }) => knownAtMs)
          expect(times).toEqual([...times].sort((a, b) => b - a))
          const middle = toCredentialName(all[Math.floor(all.length / 2)] as CredentialRow)
          for (const ppid of [undefined, user])
            for (const after of [undefined, middle])
              expect(
                await findFault(
                  writer,
                  firstStatement(credentials(siteId, { ppid, status }, { after, limit: LIMIT })),
                  [
                    ppid === undefined ? 'site_id=? AND status=?' : 'site_id=? AND ppid=? AND status=?',
                    ...(after === undefined ? [] : ['(known_at,credential_id)<(?,?)']),
                  ],
                ),
              ).toBeUndefined()
        }
        expect(await store.sitesToClassify(deps.clock.nowMs(), { after: undefined, limit: 9 })).toEqual([])
      })
    },
  )

  it('of a user with any status: read a page of an index, with 6,000 others in between', {
    tags: 'long',
    timeout: 300_000,
  }, async () => {
    const writer = await newWriter()
    await withNode(writer, async (store, { deps }) => {
      const { siteId, user } = await fill(writer, deps, 'active')
      // Not classified yet, and the latest of all.
      const latest = seen(siteId, { ppid: user })
      await store.recordCredentials([latest], deps.clock.nowMs())
      if (writer.place.kind === 'postgres') await writer.sql('ANALYZE')
      const all: CredentialRow[] = []
      for (let after: string | undefined; ; ) {
        const page = await store.credentials(siteId, { ppid: user }, { after, limit: STEP })
        all.push(...page)
        if (page.length < STEP) break
        after = toCredentialName(page[STEP - 1] as CredentialRow)
      }
      const everything = await writer.sql(
        'SELECT credential_id FROM credentials WHERE ppid = $1 ORDER BY known_at DESC, credential_id DESC',
        user,
      )
      expect(all.map(({ credentialId }) => credentialId)).toEqual(
        everything.map(({ credential_id }) => credential_id),
      )
      expect([all.length, all[0]?.credentialId]).toEqual([CREDENTIALS + 4 * FEW + 1, latest.credentialId])
      const middle = toCredentialName(all[all.length / 2 - 0.5] as CredentialRow)
      for (const after of [undefined, middle]) {
        const [knownAt, id] = after?.split(' ') ?? []
        const before = after === undefined ? '' : `AND (known_at, credential_id) < (${knownAt}, '${id}')`
        const latest = { sql: selectLatestOfUser(before), values: [siteId, user, LIMIT] }
        const constraint = 'site_id=? AND ppid=? AND status=?'
        expect(await findExcess(writer, latest, constraint, 4 * LIMIT)).toBeUndefined()
        if (writer.place.kind === 'postgres') continue
        const plan = await writer.sql(`EXPLAIN QUERY PLAN ${latest.sql}`, ...latest.values)
        expect(plan.filter(({ detail }) => String(detail).includes(constraint))).toHaveLength(4)
      }
      const revoked = await store.revokeUser(
        { siteId, ppid: user, reason: undefined },
        context(deps.clock.nowMs()),
      )
      expect(revoked.credentialIds).toEqual(all.slice(0, 1000).map(({ credentialId }) => credentialId))
    })
  })

  it('by source, and by their end: read a page of an index, with 6,000 others in between', {
    tags: 'long',
    timeout: 300_000,
  }, async () => {
    const writer = await newWriter()
    await withNode(writer, async (store, { deps }) => {
      const { siteId } = await fill(writer, deps, 'active')
      const nowMs = deps.clock.nowMs()
      const rare = { source: 'issued', validUntilMs: nowMs + 3_600_000 } as const
      const odd = Array.from({ length: FEW }, () => seen(siteId, { createdMs: nowMs - 60_000, ...rare }))
      // In the middle of the others.
      await store.recordCredentials(odd, nowMs - 10 * DAY + CREDENTIALS / 2)
      await updateAllStatuses(deps)
      if (writer.place.kind === 'postgres') await writer.sql('ANALYZE')
      const page = { after: undefined, limit: LIMIT }
      const filter = { source: 'issued', status: 'active' } as const
      const found = await loadByStatus(deps, siteId, filter, page)
      expect([found.length, new Set(found.map(({ source }) => source))]).toEqual([LIMIT, new Set(['issued'])])
      const range = { fromMs: nowMs, beforeMs: nowMs + 7_200_000 }
      const first = await store.credentialsByEnd(siteId, range, page)
      const last = first.at(-1) as CredentialRow
      const rest = await store.credentialsByEnd(siteId, range, { ...page, after: toEndName(last) })
      const ids = [...first, ...rest].map(({ credentialId }) => credentialId)
      expect(ids).toEqual(odd.map(({ credentialId }) => credentialId).sort())
      const middle = toCredentialName(found[LIMIT / 2] as CredentialRow)
      for (const after of [undefined, middle]) {
        const bySource = firstStatement(credentials(siteId, filter, { after, limit: LIMIT }))
        const constraint = 'site_id=? AND source=? AND status=?'
        expect(await findFault(writer, bySource, [constraint])).toBeUndefined()
      }
      for (const after of [undefined, toEndName(last)]) {
        const byEnd = firstStatement(credentialsByEnd(siteId, range, { after, limit: LIMIT }))
        const constraint = 'site_id=? AND (valid_until,known_at,credential_id)>(?,?,?)'
        expect(await findFault(writer, byEnd, [constraint])).toBeUndefined()
      }
      for (const index of ['of_source', 'site_ends', 'ends', 'status_ends'])
        await writer.sql(`DROP INDEX credentials_${index}`)
      // The check itself.
      const without = [
        firstStatement(credentials(siteId, filter, { after: middle, limit: LIMIT })),
        firstStatement(credentialsByEnd(siteId, range, page)),
      ]
      for (const statement of without)
        expect(await findFault(writer, statement, ['site_id=? AND source=?'])).toBeDefined()
    })
  })

  it('a page without its index is noticed: the check itself', {
    tags: 'long',
    timeout: 300_000,
  }, async () => {
    const writer = await newWriter()
    await withNode(writer, async (_store, { deps }) => {
      const { siteId } = await fill(writer, deps, 'active')
      const filter = { ppid: undefined, status: 'revoked' } as const
      const newest = await loadByStatus(deps, siteId, filter, { after: undefined, limit: FEW })
      // The next one is on the other side of those that are active.
      const after = toCredentialName(newest.at(-1) as CredentialRow)
      const revoked = firstStatement(credentials(siteId, filter, { after, limit: LIMIT }))
      const constraints = ['site_id=? AND status=?']
      expect(await findFault(writer, revoked, constraints)).toBeUndefined()
      for (const index of [
        'by_status',
        'status_ends',
        'of_user_by_status',
        'of_issuer',
        'of_issuer_key',
        'of_source',
      ])
        await writer.sql(`DROP INDEX credentials_${index}`)
      expect(await findFault(writer, revoked, constraints)).toBeDefined()
    })
  })

  it('audit rows with a filter: reads only those, with very many others in between', {
    tags: 'long',
    timeout: 300_000,
  }, async () => {
    const writer = await newWriter()
    await withNode(writer, async (store) => {
      const { siteId } = newSite()
      await store.createSite(newSite({ siteId, pairwiseSecretSealed: sealSecret(siteId) }), context())
      const columns = 'id, site_id, at, actor, action, target, detail, request_id, outcome'
      const rare = `'key:rare', 'rare.act', 'rare', '{}', 'rare', 'unchanged'`
      const usual = `'key:usual', 'usual.act', 'usual', '{}', 'usual', 'done'`
      const numbers = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${BULK})`
      const id = `'audit_m' || (1000000 + n.i)`
      await writer.sql(
        `INSERT INTO audit (${columns}) ${numbers}
         SELECT ${id}, $1, n.i, ${usual} FROM n WHERE n.i % 300 <> 0
         UNION ALL SELECT ${id}, $1, n.i, ${rare} FROM n WHERE n.i % 300 = 0`,
        siteId,
      )
      if (writer.place.kind === 'postgres') await writer.sql('ANALYZE')
      const values = {
        actor: 'key:rare',
        action: 'rare.act',
        target: 'rare',
        request_id: 'rare',
        outcome: 'unchanged',
      }
      for (const [column, value] of Object.entries(values))
        for (const order of ['newest', 'oldest'] as const)
          for (const site of column === 'request_id' ? [siteId, undefined] : [siteId]) {
            const by = { column, value } as NonNullable<AuditSelection['by']>
            const selection = { siteId: site, by, fromMs: undefined, toMs: undefined, order }
            const page = { after: undefined, limit: LIMIT }
            const fault = await findFault(writer, firstStatement(selectAuditRows(selection, page)), [
              `${column}=? AND id${order === 'newest' ? '<' : '>'}?`,
            ])
            expect([column, order, fault]).toEqual([column, order, undefined])
            expect(await store.selectAuditRows(selection, page)).toHaveLength(LIMIT)
          }
    })
  })

  it('deliveries of a site with a filter: reads only those, with very many others in between', {
    tags: 'long',
    timeout: 300_000,
  }, async () => {
    const writer = await newWriter()
    await withNode(writer, async (store) => {
      const { siteId } = newSite()
      await store.createSite(newSite({ siteId, pairwiseSecretSealed: sealSecret(siteId) }), context())
      const columns = 'delivery_id, webhook_id, site_id, epoch, seq, kind, status'
      const numbers = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${BULK})`
      const rest = 'replayed, attempts, created_at, next_attempt_at'
      await writer.sql(
        `INSERT INTO deliveries (${columns}, ${rest}) ${numbers}
         SELECT 'dlv_' || n.i, 'wh_usual', $1, 'e', n.i, 'user.revoked', 'delivered', 0, 1, n.i, n.i FROM n WHERE n.i % 300 <> 0
         UNION ALL SELECT 'dlv_' || n.i, 'wh_rare', $1, 'e', n.i, 'site.changed', 'failed', 0, 1, n.i, n.i FROM n WHERE n.i % 300 = 0`,
        siteId,
      )
      if (writer.place.kind === 'postgres') await writer.sql('ANALYZE')
      const rare = { webhook_id: 'wh_rare', status: 'failed', kind: 'site.changed' }
      for (const after of [undefined, `${BULK - 3000} ${BULK - 3000} dlv_1`])
        for (const [column, value] of [['', ''], ...Object.entries(rare)]) {
          const by = column === '' ? undefined : ({ column, value } as DeliveryColumn)
          const page = { after, limit: LIMIT }
          const fault = await findFault(writer, firstStatement(siteDeliveries(siteId, by, page)), [
            column === '' ? 'site_id=?' : `${column}=?`,
            ...(after === undefined ? [] : ['(created_at,seq,delivery_id)<(?,?,?)']),
          ])
          expect([column, after, fault]).toEqual([column, after, undefined])
          expect(await store.siteDeliveries(siteId, by, page)).toHaveLength(LIMIT)
        }
      const secretSealed = sealSecret(siteId)
      const webhook = { webhookId: 'wh_usual', siteId, url: 'x', kinds: undefined, secretSealed }
      await store.createWebhook(webhook, 16, context())
      const recover = (after: string | undefined) =>
        store.recoverDeliveries(
          siteId,
          'wh_usual',
          { sinceMs: 11, isAll: true, after, reason: undefined },
          context(),
        )
      // 500 at a time, the oldest first, and a thousand in all. Every 300th has another webhook.
      expect(await recover(undefined)).toEqual({ count: 500, next: '511 511' })
      expect(await recover('511 511')).toEqual({ count: 500, next: '1013 1013' })
      expect(await recover('1013 1013')).toBe('too_many')
      const pending = await store.siteDeliveries(
        siteId,
        { column: 'status', value: 'pending' },
        { after: undefined, limit: 2000 },
      )
      expect([pending.length, pending.at(-1)?.seq, pending[0]?.seq]).toEqual([1000, 11, 1013])
    })
  })

  it('the next entries for a webhook: reads only those, with very many after them', {
    tags: 'long',
    timeout: 300_000,
  }, async () => {
    const writer = await newWriter()
    // Without a node, which would find out that the log does not end here.
    await withStore(writer, async (store) => {
      const { siteId } = newSite()
      await store.createSite(newSite({ siteId, pairwiseSecretSealed: sealSecret(siteId) }), context())
      const numbers = `WITH RECURSIVE n(i) AS (SELECT 10 UNION ALL SELECT i + 1 FROM n WHERE i < ${BULK})`
      await writer.sql(
        `INSERT INTO entries (epoch, position, site_id, seq, kind, body, at, prev_hash, hash) ${numbers}
         SELECT $1, n.i, $2, n.i, 'user.revoked', '{}', '', '', '' FROM n`,
        store.epoch,
        siteId,
      )
      if (writer.place.kind === 'postgres') await writer.sql('ANALYZE')
      const next = firstStatement(entriesAfter(siteId, 9, LIMIT))
      expect(await findFault(writer, next, ['epoch=? AND site_id=? AND seq>?'])).toBeUndefined()
      const found = await writer.sql(next.sql, ...next.values)
      expect([found.length, found[0]?.seq, found.at(-1)?.seq].map(Number)).toEqual([LIMIT, 10, LIMIT + 9])
    })
  })

  it('credentials whose status changes with time: reads only those, with very many others', {
    tags: 'long',
    timeout: 300_000,
  }, async () => {
    const writer = await newWriter()
    // Without a node, which would classify them at the same time.
    await withStore(writer, async (store) => {
      const { siteId } = newSite()
      await store.createSite(newSite({ siteId, pairwiseSecretSealed: sealSecret(siteId) }), context())
      for (const validUntilMs of [NOW - DAY, NOW + DAY]) {
        const template = seen(siteId, { validUntilMs })
        await store.recordCredentials([template], NOW)
        await copy(writer, template.credentialId, `cred_${validUntilMs}-`, CREDENTIALS)
      }
      await writer.sql(
        `UPDATE credentials SET status = CASE WHEN valid_until <= $1 THEN 'expired' ELSE 'active' END`,
        NOW,
      )
      if (writer.place.kind === 'postgres') await writer.sql('ANALYZE')
      const operation = classifyExpired(siteId, NOW, LIMIT)
      for (let step = operation.next(); step.done !== true; step = operation.next(0))
        expect(await findFault(writer, step.value as Statement)).toBeUndefined()
    })
  })

  it('the time of an entry: reads one row of the times, with very many before it', {
    tags: 'long',
    timeout: 300_000,
  }, async () => {
    const writer = await newWriter()
    await withStore(writer, async (store) => {
      const { siteId } = newSite()
      await store.createSite(newSite({ siteId, pairwiseSecretSealed: sealSecret(siteId) }), context())
      const { epoch } = store
      const numbers = `WITH RECURSIVE n(i) AS (SELECT 10 UNION ALL SELECT i + 1 FROM n WHERE i < ${BULK})`
      await writer.sql(
        `INSERT INTO log_times (epoch, position, at) ${numbers} SELECT $1, n.i, 1000 + n.i FROM n`,
        epoch,
      )
      await writer.sql(
        `INSERT INTO entries (epoch, position, site_id, seq, kind, body, at, prev_hash, hash) ${numbers}
         SELECT $1, n.i, $2, n.i, 'user.revoked', '{}', '', '', '' FROM n`,
        epoch,
        siteId,
      )
      if (writer.place.kind === 'postgres') {
        await writer.sql('ANALYZE')
        const lookUp = firstStatement(committedBy(epoch, siteId, BULK - 1))
        // The checkpoint, a table of one row, is empty here.
        expect(await findFault(writer, lookUp, ['checkpoint'])).toBeUndefined()
      }
      expect(await store.committedBy(siteId, BULK - 1)).toEqual({
        position: BULK - 1,
        atMs: 1000 + BULK - 1,
      })
    })
  })

  it('sums of decisions and times: read only their range, with very many rows before it', {
    tags: 'long',
    timeout: 300_000,
  }, async () => {
    const writer = await newWriter()
    await withNode(writer, async (store) => {
      const { siteId } = newSite()
      const MINUTE = 60_000
      const HOUR = 60 * MINUTE
      const numbers = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${BULK})`
      await writer.sql(
        `INSERT INTO verdict_tallies (site_id, span_ms, at, verifier_id, presented, outcome, verdicts)
         ${numbers} SELECT $1, ${MINUTE}, CAST(n.i AS BIGINT) * ${MINUTE}, 'web', 'credential', 'allowed', 2 FROM n`,
        siteId,
      )
      await writer.sql(
        `INSERT INTO apply_times (site_id, slot, verifier_id, measure, bucket, count, ms_max)
         ${numbers} SELECT $1, CAST(n.i AS BIGINT) * ${HOUR}, 'web', 'applied', n.i % 7, 3, 41 FROM n`,
        siteId,
      )
      if (writer.place.kind === 'postgres') await writer.sql('ANALYZE')
      const range = { spanMs: 60_000 as const, fromMs: (BULK - 23) * MINUTE, toMs: (BULK + 1) * MINUTE }
      const sinceMs = (BULK - 23) * HOUR
      expect((await store.tallySums(siteId, range)).map(({ count }) => count)).toEqual([48])
      const times = await store.applyTimes(siteId, sinceMs)
      expect(times.reduce((sum, { count }) => sum + count, 0)).toBe(72)
      const cases = [
        [
          firstStatement(tallySums(siteId, range)),
          'site_id=? AND span_ms=? AND at>? AND at<?',
          /\bat (>=|<)/g,
        ],
        [firstStatement(applyTimes(siteId, sinceMs)), 'site_id=? AND slot>?', /\bslot (>=)/g],
      ] as const
      for (const [statement, constraint, bound] of cases) {
        expect(await findExcess(writer, statement, constraint, 24)).toBeUndefined()
        // The check itself: no index is used for a sum.
        const sql = statement.sql.replace(bound, (text) => text.replace(' ', ' + 0 '))
        expect(sql).not.toBe(statement.sql)
        expect(await findExcess(writer, { ...statement, sql }, constraint, 24)).toBeDefined()
      }
    })
  })

  describe('every other list', () => {
    it('is read from an index, too', { tags: 'long' }, async () => {
      const writer = await newWriter()
      await withNode(writer, async (store) => {
        const { siteId } = newSite()
        await store.createSite(newSite({ siteId, pairwiseSecretSealed: sealSecret(siteId) }), context())
        if (writer.place.kind === 'postgres')
          for (const setting of ['enable_seqscan', 'enable_sort', 'enable_bitmapscan'])
            await writer.sql(
              `DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET ${setting} = off', current_database()); END $$`,
            )
        const user = ppid()
        const lists = (after: string | undefined) => {
          const page = { after, limit: LIMIT }
          const seqPage = { after: after && '1', limit: LIMIT }
          return [
            sites(page),
            issuers(siteId, page),
            apiKeys(siteId, page),
            apiKeys(null, page),
            nodes(page),
            webhooks(siteId, page),
            deliveries(siteId, 'wh_1', page),
            auditRows(siteId, page),
            auditRows(null, page),
            ...audits(siteId).map((selection) => selectAuditRows(selection, page)),
            people(page),
            consoleSessions('person_1', page),
            passkeys('person_1', page),
            receipts(siteId, {}, page),
            receipts(siteId, { state: 'waiting' }, page),
            openReceipts(siteId, { afterSeq: 1, toSeq: 9 }, LIMIT),
            readOneKey(departedReaders(siteId, 1)),
            drills(siteId, page),
            tokens(siteId, {}, page),
            tokens(siteId, { ppid: user }, page),
            tokens(siteId, { sha256: 'a'.repeat(64) }, page),
            knownUsers(siteId, {}, seqPage),
            knownUsers(siteId, { isRevoked: true }, seqPage),
            userEntries(siteId, user, LIMIT),
            credentials(siteId, {}, page),
            // SQLite sorts the page, once it has found its ids: `id-plans.test.ts` looks at that.
            ...(writer.place.kind === 'sqlite' ? [] : [credentials(siteId, { ppid: user }, page)]),
            formerVerifiers(siteId, 'gone', {
              after: after === undefined ? undefined : { verifierId: 'a', keyId: 'b', instanceId: 'c' },
              limit: LIMIT,
            }),
            credentials(siteId, { issuer: 'did:web:a.example', status: 'active' }, page),
            credentials(siteId, { issuerKey: 'did:web:a.example#1', status: 'active' }, page),
            credentials(siteId, { source: 'issued', status: 'active' }, page),
            credentialsByEnd(siteId, { fromMs: 1, beforeMs: 9 }, page),
            ...(['newest', 'oldest'] as const).flatMap((order) =>
              [undefined, 'issuer.trusted' as const].map((kind) =>
                siteLogPage(store.epoch, siteId, { afterSeq: 0, beforeSeq: 99, kind, order, limit: LIMIT }),
              ),
            ),
          ]
        }
        for (const after of [undefined, '1 x'])
          for (const list of lists(after)) {
            const statement = firstStatement(list)
            // A delivery is named by its seq.
            const values = statement.values.map((value) => (Number.isNaN(value) ? 1 : value))
            expect([statement.sql, await findFault(writer, { ...statement, values })]).toEqual([
              statement.sql,
              undefined,
            ])
          }
      })
    })
  })
})
