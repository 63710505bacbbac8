/**
 * A process of its own that cuts the log of an embedded store again and again, in small steps:
 * `node cut-process.ts <file> <beforeMs> <nowMs>`. Says `cutting`, then waits to be killed.
 */
import { cutLog } from '../../src/log/cut-log.ts'
import { openStore } from '../../src/store/open.ts'

/** That of the fixtures, which cannot be imported outside of a test. */
const MASTER_KEY = Buffer.from('0123456789abcdef'.repeat(4), 'hex')

const [file = '', beforeMs = '', nowMs = ''] = process.argv.slice(2)
const quiet = { info: () => {}, warn: () => {}, error: () => {} }
const store = await openStore(
  { kind: 'sqlite', file },
  { masterKey: MASTER_KEY, log: quiet, onFatal: () => process.exit(70) },
)
console.log('cutting')
await cutLog({
  store,
  beforeMs: Number(beforeMs),
  context: { actor: 'system', atMs: Number(nowMs) },
  stepEntriesMax: 7,
  batchRows: 2,
})
console.log('done')
setInterval(() => {}, 1000)
