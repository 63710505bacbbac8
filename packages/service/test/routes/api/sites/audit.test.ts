import { gunzipSync } from 'node:zlib'
import type { EndpointId } from '@countersign/core/contract'
import { beforeEach, describe, expect, it } from 'vitest'
import { AUDIT_REJECTED } from '../../../../src/store/audit-rows.ts'
import { StoreUnavailable } from '../../../../src/store/errors.ts'
import { type AdminNode, newSiteId, openAdminNode } from '../../../admin-node.ts'
import { keyOf, operator } from '../../../node.ts'
import { NOW } from '../../../party.ts'
import { forEachSharedStore } from '../../../stores.ts'

const at = (ms: number) => new Date(ms).toISOString()

forEachSharedStore('the audit', (open) => {
  let A = newSiteId()
  let B = newSiteId()
  beforeEach(() => {
    A = newSiteId()
    B = newSiteId()
  })

  const begin = async (): Promise<AdminNode> => {
    const node = await openAdminNode(open(), A)
    for (const site_id of [A, B]) await node.admin('create_site', { body: { site_id } })
    return node
  }
  const list = (node: AdminNode, query = '', caller = keyOf(A), site_id: string = A) =>
    node.admin('list_audit', { params: { site_id }, query, caller })
  const targets = async (node: AdminNode, query: string) =>
    (await list(node, query)).body.items.map(({ target }: { target: string }) => target)
  /** Six rows, a second apart. */
  const fill = async (node: AdminNode, siteId: typeof A | null = A, count = 6) => {
    for (let n = 0; n < count; n++)
      await node.deps.store.audit({
        siteId,
        action: n % 2 === 0 ? 'user.revoke' : 'token.revoke',
        target: `t${n}`,
        detail: n === 3 ? { outcome: AUDIT_REJECTED, reason: '=1+1' } : {},
        context: {
          actor: n < 2 ? 'operator:key_o' : n < 4 ? 'key:key_k' : 'system',
          atMs: NOW + 60_000 + n * 1000,
          requestId: `${A}.${n}`,
        },
      })
    node.clock.pass(120_000)
  }

  describe('with filters', () => {
    it('200: by each of them', async () => {
      const node = await begin()
      await fill(node)
      expect(await targets(node, 'actor=api_key:key_k')).toEqual(['t3', 't2'])
      expect(await targets(node, 'actor=operator:key_o')).toEqual(['t1', 't0'])
      expect(await targets(node, 'actor=service')).toEqual(['t5', 't4'])
      // The site itself was created by an operator, with its issuer.
      expect(await targets(node, 'actor=operator')).toEqual(['t1', 't0', expect.any(String), A])
      expect(await targets(node, 'actor=holder')).toEqual([])
      expect(await targets(node, 'action=token.revoke')).toEqual(['t5', 't3', 't1'])
      expect(await targets(node, 'target=t4')).toEqual(['t4'])
      expect(await targets(node, `outcome=${AUDIT_REJECTED}`)).toEqual(['t3'])
      expect(await targets(node, `outcome=done&action=token.revoke`)).toEqual(['t5', 't1'])
      expect(await targets(node, `request_id=${A}.2`)).toEqual(['t2'])
      expect(await targets(node, `from=${at(NOW + 62_000)}&to=${at(NOW + 64_000)}`)).toEqual(['t3', 't2'])
      expect(await targets(node, `order=oldest&from=${at(NOW + 60_000)}`)).toEqual(
        [0, 1, 2, 3, 4, 5].map((n) => `t${n}`),
      )
    })

    it('200: by several at a time', async () => {
      const node = await begin()
      await fill(node)
      expect(await targets(node, 'actor=api_key:key_k&action=user.revoke')).toEqual(['t2'])
      expect(await targets(node, 'actor=operator&target=t0&outcome=done')).toEqual(['t0'])
      expect(await targets(node, 'actor=operator&target=t2')).toEqual([])
      expect(await targets(node, `request_id=${A}.2&target=t3`)).toEqual([])
    })

    it('200: page by page in both orders, each row once, from a cursor or after a row', async () => {
      const node = await begin()
      await fill(node)
      for (const query of ['', '&order=oldest', '&actor=operator', '&action=token.revoke&order=oldest']) {
        const { items } = (await list(node, `limit=200${query}`)).body
        const seen: unknown[] = []
        for (let cursor: string | null = ''; cursor !== null; ) {
          const { body } = await list(node, `limit=1${query}${cursor && `&cursor=${cursor}`}`)
          seen.push(...body.items)
          cursor = body.next_cursor
        }
        expect(seen).toEqual(items)
        const rest = await list(node, `after=${items[0].audit_id}${query}`)
        expect(rest.body.items).toEqual(items.slice(1))
      }
    })

    it('400: a cursor is of no use with another filter or order', async () => {
      const node = await begin()
      await fill(node)
      const { next_cursor } = (await list(node, 'limit=1&actor=operator')).body
      for (const query of [
        '',
        '&actor=service',
        '&actor=operator&order=oldest',
        '&actor=operator&format=csv',
      ])
        expect((await list(node, `cursor=${next_cursor}${query}`)).status).toBe(
          query.endsWith('csv') ? 200 : 400,
        )
      expect((await list(node, `cursor=${next_cursor}&actor=operator&after=audit_1`)).code).toBe(
        'validation_failed',
      )
    })

    it('200: reads at most 1,000 rows for a page with several filters, and goes on from there', async () => {
      const node = await begin()
      const { store } = node.deps
      const limits: number[] = []
      const select = store.selectAuditRows
      store.selectAuditRows = (selection, page) => {
        limits.push(page.limit)
        return select(selection, page)
      }
      await fill(node)
      await list(node, 'limit=1&actor=service&action=user.revoke')
      await list(node, 'limit=1&action=user.revoke')
      expect(limits).toEqual([1000, 2])
    })

    it('A226: hostile text is rejected or taken literally', async () => {
      const node = await begin()
      await fill(node)
      for (const text of ["' OR 1=1 --", '%', '_', '\\', '"; DROP TABLE audit; --', '$1', 't_', '{}'])
        expect(await targets(node, `target=${encodeURIComponent(text)}`)).toEqual([])
      for (const text of ["api_key:' OR 1=1 --", 'operator:%', 'service:$1'])
        expect(await targets(node, `actor=${encodeURIComponent(text)}`)).toEqual([])
      expect(await targets(node, 'target=t1')).toEqual(['t1'])
    })
  })

  describe('of another site', () => {
    it('I-15: no filter and no format shows its rows', async () => {
      const node = await begin()
      await fill(node)
      for (const query of [
        `request_id=${A}.2`,
        'target=t2',
        'actor=api_key:key_k',
        `outcome=${AUDIT_REJECTED}`,
      ]) {
        expect((await list(node, query, keyOf(B), B)).body).toEqual({ items: [], next_cursor: null })
        for (const format of ['csv', 'ndjson', 'ocsf']) {
          const { body } = await list(node, `${query}&format=${format}`, keyOf(B), B)
          expect(body ?? '').not.toContain('t2')
          expect((await list(node, `${query}&format=${format}`, keyOf(B), A)).code).toBe('not_found')
        }
      }
    })

    it('403: a key of a site cannot list the audit of the service', async () => {
      const node = await begin()
      for (const query of ['', 'format=csv', 'without_site=1'])
        expect((await node.admin('list_service_audit', { query, caller: keyOf(A) })).code).toBe(
          'api_key_forbidden',
        )
    })
  })

  describe('of the service', () => {
    it('200: all sites and what concerns none, for operators', async () => {
      const node = await begin()
      await fill(node)
      await fill(node, B, 1)
      await fill(node, null, 2)
      const wide = async (query: string) =>
        (await node.admin('list_service_audit', { query, caller: operator })).body.items.map(
          ({ site_id, target }: { site_id: string | null; target: string }) => [site_id, target],
        )
      expect((await wide(`request_id=${A}.0`)).sort()).toEqual(
        [
          [A, 't0'],
          [B, 't0'],
          [null, 't0'],
        ].sort(),
      )
      expect(await wide(`request_id=${A}.0&without_site=1`)).toEqual([[null, 't0']])
      expect(await wide(`target=t1&request_id=${A}.1&actor=operator`)).toHaveLength(2)
      const from = `from=${at(NOW + 60_000)}&to=${at(NOW + 66_000)}`
      const all = await wide(`${from}&limit=200&order=oldest`)
      expect(all).toContainEqual([A, 't5'])
      expect(all).toContainEqual([B, 't0'])
      const { body } = await node.admin('list_service_audit', { query: 'limit=1' })
      expect(body.next_cursor).toBeTypeOf('string')
      expect((await list(node, `cursor=${body.next_cursor}`)).status).toBe(400)
    })

    it('200: by a filter without an index, 1,000 rows at a time', async () => {
      const node = await begin()
      await fill(node)
      const name = `only-${A}`
      await node.deps.store.audit({
        siteId: A,
        action: 'user.revoke',
        target: name,
        detail: {},
        context: { actor: 'system', atMs: NOW + 61_500 },
      })
      const seen: unknown[] = []
      for (let cursor: string | null = ''; cursor !== null; ) {
        const query = `target=${name}&from=${at(NOW)}${cursor && `&cursor=${cursor}`}`
        const { body } = await node.admin('list_service_audit', { query })
        seen.push(...body.items)
        cursor = body.next_cursor
      }
      expect(seen).toMatchObject([{ target: name, site_id: A }])
    })
  })

  describe('in other formats', () => {
    const bytes = async (node: AdminNode, query: string, fields: Record<string, string> = {}) =>
      node.admin('list_audit', { params: { site_id: A }, query, fields, caller: keyOf(A) })

    it('200: NDJSON has the rows of the list, one per line', async () => {
      const node = await begin()
      await fill(node)
      const { items } = (await list(node, 'limit=200')).body
      const { body, headers } = await bytes(node, 'format=ndjson')
      expect(headers).toMatchObject({
        'content-type': 'application/x-ndjson',
        'content-disposition': 'attachment; filename="audit.ndjson"',
        'cache-control': 'no-store',
      })
      expect(body.endsWith('\n')).toBe(true)
      const rows = body.trim().split('\n')
      expect(rows.map((row: string) => JSON.parse(row))).toEqual(items)
    })

    it('200: CSV has a line of names and no formulas', async () => {
      const node = await begin()
      await fill(node)
      const { body, headers } = await bytes(node, `format=csv&outcome=${AUDIT_REJECTED}`)
      expect(headers['content-type']).toBe('text/csv; charset=utf-8; header=present')
      const lines = body.split('\r\n')
      expect(lines).toHaveLength(3)
      expect(lines[0]).toMatch(/^"audit_id","at","site_id"/)
      expect(lines[1]).toContain(`"${AUDIT_REJECTED}","'=1+1"`)
    })

    it('200: OCSF has one event per line', async () => {
      const node = await begin()
      await fill(node)
      const { body } = await bytes(node, 'format=ocsf&target=t0')
      expect(JSON.parse(body)).toMatchObject({ class_uid: 3001, user: { uid: 't0' } })
    })

    it('200: Accept chooses, and format wins', async () => {
      const node = await begin()
      const type = async (query: string, accept: string) =>
        (await bytes(node, query, { accept })).headers['content-type']
      expect(await type('', 'application/x-ndjson')).toBe('application/x-ndjson')
      expect(await type('', 'text/csv;q=0.9, */*;q=0.1')).toMatch(/^text\/csv/)
      expect(await type('', 'application/json, text/csv')).toBe('application/json')
      expect(await type('', 'text/html, */*')).toBe('application/json')
      expect(await type('format=json', 'text/csv')).toBe('application/json')
      expect(await type('format=csv', 'application/json')).toMatch(/^text\/csv/)
    })

    it('200: more rows than a batch, in both orders, up to a number of rows, and on from there', {
      tags: 'long',
    }, async () => {
      const node = await begin()
      await fill(node, A, 1203)
      const rows = async (query: string) =>
        String((await bytes(node, `format=ndjson&${query}`)).body ?? '')
          .split('\n')
          .filter((line) => line !== '')
          .map((line) => JSON.parse(line))
      const from = `from=${at(NOW + 60_000)}`
      node.clock.pass(1_300_000)
      const all = await rows(`order=oldest&${from}`)
      expect(all.map(({ target }) => target)).toEqual(Array.from({ length: 1203 }, (_, n) => `t${n}`))
      expect((await rows(from)).map(({ target }) => target)).toEqual(
        all.map(({ target }) => target).toReversed(),
      )
      const first = await rows(`order=oldest&rows=700&${from}`)
      expect(first).toEqual(all.slice(0, 700))
      expect(await rows(`order=oldest&after=${first.at(-1).audit_id}&${from}`)).toEqual(all.slice(700))
      expect(await rows(`action=token.revoke&actor=service&rows=3&${from}`)).toHaveLength(3)
    })

    it('200: ends at the time of the request', async () => {
      const node = await begin()
      await fill(node)
      await node.deps.store.audit({
        siteId: A,
        action: 'user.revoke',
        target: 'later',
        detail: {},
        context: { actor: 'system', atMs: node.clock.nowMs() + 1000 },
      })
      expect((await bytes(node, `format=csv&to=${at(NOW + 10 ** 9)}`)).body).not.toContain('later')
      expect(await targets(node, 'limit=1')).toEqual(['later'])
    })

    it('200: gzip for clients that accept it', async () => {
      const node = await begin()
      await fill(node)
      const answer = await node.deps.store.selectAuditRows(
        { siteId: A, by: undefined, fromMs: undefined, toMs: undefined, order: 'newest' },
        { after: undefined, limit: 500 },
      )
      const { openAuditExport, exportFormats } = await import('../../../../src/audit-list/audit-export.ts')
      const { pieces } = await openAuditExport(
        node.deps.store,
        {
          selection: { siteId: A, by: undefined, fromMs: undefined, toMs: undefined, order: 'newest' },
          isListed: undefined,
          format: exportFormats.ndjson,
          after: undefined,
          rowsMax: 100,
          confirmCaller: async () => {},
        },
        () => undefined,
      )
      const chunks: Uint8Array[] = []
      for await (const chunk of pieces('gzip')) chunks.push(chunk)
      expect(gunzipSync(Buffer.concat(chunks)).toString().trim().split('\n')).toHaveLength(answer.length)
      for await (const _ of pieces('gzip')) break
    })

    it('429: at most two at a time for each site, and they end with the response', async () => {
      const node = await begin()
      await fill(node)
      const { auditExports } = node.deps
      const at = (siteId: typeof A, keyId: string) =>
        auditExports.begin({ kind: 'site', siteId, keyId, permissions: [], address: '127.0.0.1' })
      const ends = [at(A, 'key_1'), at(A, 'key_2')]
      expect(await bytes(node, 'format=csv')).toMatchObject({ status: 429, code: 'rate_limited' })
      ends[0]?.()
      ends[0]?.()
      // It ends a moment after its last byte.
      const status = async () => (await bytes(node, 'format=csv')).status
      for (let i = 0; i < 3; i++) await expect.poll(status).toBe(200)
      await expect.poll(status).toBe(200)
      await expect.poll(() => auditExports.size).toBe(1)
      const others = Array.from({ length: 7 }, () => at(newSiteId(), 'key_3'))
      expect((await bytes(node, 'format=csv')).status).toBe(429)
      // No site can keep an operator waiting.
      const end = auditExports.begin({ kind: 'operator', keyId: 'key_o', address: '127.0.0.1' })
      for (const each of [...ends, ...others, end]) each()
      expect((await bytes(node, 'format=csv')).status).toBe(200)
    })

    it('ends when its caller may not read on', { tags: 'long' }, async () => {
      const node = await begin()
      await fill(node, A, 501)
      const { openAuditExport, exportFormats } = await import('../../../../src/audit-list/audit-export.ts')
      const selection = { siteId: A, by: undefined, fromMs: undefined, toMs: undefined } as const
      const order = {
        selection: { ...selection, order: 'newest' },
        isListed: undefined,
        format: exportFormats.ndjson,
        after: undefined,
        rowsMax: 10_000,
      } as const
      const read = async (confirmCaller: () => Promise<void>) => {
        let rows = 0
        const { pieces } = await openAuditExport(
          node.deps.store,
          { ...order, confirmCaller },
          () => undefined,
        )
        for await (const chunk of pieces('identity'))
          rows += Buffer.from(chunk).toString().split('\n').length - 1
        return rows
      }
      const deleted = new Error('the key was deleted')
      await expect(read(() => Promise.reject(deleted))).rejects.toBe(deleted)
      // Control: with a valid key, all rows.
      expect(await read(async () => {})).toBeGreaterThan(500)
    })

    it('503: when the store cannot be read, and the place is free again', async () => {
      const node = await begin()
      const { store } = node.deps
      const select = store.selectAuditRows
      store.selectAuditRows = () => Promise.reject(new StoreUnavailable('down'))
      for (let i = 0; i < 4; i++) expect((await bytes(node, 'format=csv')).code).toBe('store_unavailable')
      store.selectAuditRows = select
      expect((await bytes(node, 'format=csv')).status).toBe(200)
    })

    it('HEAD and every other endpoint know no format', async () => {
      const node = await begin()
      expect(
        (await node.admin('list_webhooks' as EndpointId, { params: { site_id: A }, query: 'format=csv' }))
          .status,
      ).toBe(422)
    })
  })
})
