import Database from 'better-sqlite3'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import {
  countOldRevocations,
  credentialsBeyond,
  removeOldRevocations,
} from '../../src/store/operations/cut-log.ts'
import { credentialId, NOW, siteId } from './fixtures.ts'
import { findSteps } from './sqlite-plans.ts'
import { newFile, removeFiles, type StoreWriter, withStore } from './store-writer.ts'

const OPERATIONS = [
  ['countOldRevocations', () => countOldRevocations(NOW, 9)],
  ['removeOldRevocations', () => removeOldRevocations(NOW, 100)],
  ['credentialsBeyond', () => credentialsBeyond(siteId(), [credentialId(), credentialId()], NOW)],
] as const

/** SQLite plans without knowing how many rows there are, so an empty store is enough. */
describe('a cut on SQLite', () => {
  afterAll(removeFiles)
  let file: string
  beforeEach(async () => {
    file = newFile()
    const writer: StoreWriter = { place: { kind: 'sqlite', file }, sql: async () => [] }
    await withStore(writer, async () => {})
  })

  const isLinkLookup = (step: string) =>
    step.startsWith('SEARCH l ') && /\(site_id=\? AND link_id=\?\)/.test(step)
  const isCredentialLookup = (step: string) =>
    step.startsWith('SEARCH c ') && /\(credential_id=\? AND site_id=\?\)/.test(step)

  it.each(OPERATIONS)('%s finds credentials by the link that is revoked', (_name, operation) => {
    const steps = findSteps(file, operation())
    expect(steps.filter((step) => step.includes(' l ')).length).toBeGreaterThan(0)
    expect(steps.filter((step) => step.includes(' c ')).length).toBeGreaterThan(0)
    expect(steps.filter((step) => !isLinkLookup(step) && !isCredentialLookup(step))).toEqual([])
  })

  it('control: with the index of version 19, links of a whole site are read for each revocation', () => {
    const db = new Database(file)
    db.exec('DROP INDEX credential_links_by_link')
    db.exec('CREATE INDEX credential_links_by_link ON credential_links (site_id, link_id)')
    db.close()
    expect(findSteps(file, countOldRevocations(NOW, 9)).filter(isLinkLookup)).toEqual([])
  })
})
