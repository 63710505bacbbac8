/**
 * A process of its own that archives the audit rows of a store, in many small files:
 * `node archive-process.ts <store as JSON> <directory> <nowMs> <keptMs>`. Says `archiving`, then
 * `done`, then waits to be killed.
 */
import { archiveAudit } from '../../src/audit-archive/archive-audit.ts'
import { openStore } from '../../src/store/open.ts'

/** That of the fixtures, which cannot be imported outside of a test. */
const MASTER_KEY = Buffer.from('0123456789abcdef'.repeat(4), 'hex')

const [place = '', directory = '', nowMs = '', keptMs = ''] = process.argv.slice(2)
const log = { info: () => {}, warn: () => {}, error: () => {} }
const store = await openStore(JSON.parse(place), {
  masterKey: MASTER_KEY,
  log,
  onFatal: () => process.exit(70),
})
console.log('archiving')
await archiveAudit({
  store,
  clock: { nowMs: () => Number(nowMs) },
  log,
  meters: { rowsRemoved: () => {}, auditRowsArchived: () => {} },
  directory,
  keptMs: Number(keptMs),
  owner: String(process.pid),
  signal: new AbortController().signal,
  rowsMax: 4,
})
console.log('done')
setInterval(() => {}, 1000)
