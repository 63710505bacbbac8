import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  classifyCredentials,
  classifyExpired,
  credentialsNamed,
} from '../../src/store/operations/credential-statuses.ts'
import { credentials } from '../../src/store/operations/credentials.ts'
import { revokeSignedAhead } from '../../src/store/operations/shared/revoke-signed-ahead.ts'
import { rows } from '../../src/store/transaction.ts'
import { context, credentialId, NOW, ppid, siteId } from './fixtures.ts'
import { findSteps } from './sqlite-plans.ts'
import { newFile, removeFiles, type StoreWriter, withStore } from './store-writer.ts'

const SITE = siteId()
const ids = [credentialId(), credentialId(), credentialId()]
const page = { after: undefined, limit: 500 }
const toClassified = (id: (typeof ids)[number]) => ({ credentialId: id, status: 'revoked' as const })

const OPERATIONS = [
  ['credentials by id', () => credentialsNamed(SITE, { ppids: [], linkIds: ids }, page)],
  [
    'credentials by id and user',
    () => credentialsNamed(SITE, { ppids: [ppid(), ppid()], linkIds: ids }, page),
  ],
  ['a page of a user', () => credentials(SITE, { ppid: ppid() }, page)],
  ['the next page of a user', () => credentials(SITE, { ppid: ppid() }, { ...page, after: `1 ${ids[0]}` })],
  ['a status by id', () => classifyCredentials(SITE, 9, ids.map(toClassified))],
  ['the statuses of what has expired', () => classifyExpired(SITE, NOW, 500)],
] as const

/** SQLite plans without knowing how many rows there are, so an empty store is enough. */
describe('credentials of a site on SQLite', () => {
  afterAll(removeFiles)
  const file = newFile()
  beforeAll(async () => {
    const writer: StoreWriter = { place: { kind: 'sqlite', file }, sql: async () => [] }
    await withStore(writer, async () => {})
  })

  const readsWholeSite = (step: string) => !/(?:link_id|credential_id|ppid)=\?|valid_until[<>]\?/.test(step)

  it.each(OPERATIONS)('%s: no statement reads all of them', (_name, operation) => {
    const steps = findSteps(file, operation())
    expect(steps.length).toBeGreaterThan(0)
    expect(steps.filter(readsWholeSite)).toEqual([])
  })

  // Each sign-out, reinstatement and cut-off looks for credentials that were signed ahead.
  it.each([
    ['a user', { ppid: ppid() }, 'site_id=? AND ppid=?'],
    ['an issuer', { issuer: 'did:web:a.example' }, 'site_id=? AND known_at>?'],
    ['a site', {}, 'site_id=? AND known_at>?'],
  ])('those of %s that were signed ahead: no statement reads all of them', (_name, which, constraint) => {
    const order = { siteId: SITE, ...which, signedAfterMs: NOW, seenAfterMs: NOW, reason: undefined }
    const steps = findSteps(file, revokeSignedAhead(order, context(NOW)))
    expect(steps).toEqual([expect.stringContaining(`(${constraint}`)])
  })

  it('control: with a plain condition for the site, all are read', () => {
    const sql =
      'UPDATE credentials SET status = $2 WHERE site_id = $1 AND status <> $2 AND credential_id IN ($3, $4)'
    const steps = findSteps(file, rows(sql, SITE, 'revoked', ...ids.slice(1)))
    expect(steps.filter(readsWholeSite)).toHaveLength(1)
  })
})
