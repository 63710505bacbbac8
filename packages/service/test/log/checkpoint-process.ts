/**
 * A process of its own that revokes users and writes checkpoints until it ends:
 * `node checkpoint-process.ts <place as JSON>`. Says the position of each checkpoint.
 */
import { randomBytes } from 'node:crypto'
import { type Ppid, parsePpid } from '@countersign/core'
import { writeCheckpointAtEnd } from '../../src/store/checkpoints/checkpoint-at-end.ts'
import { openStore } from '../../src/store/open.ts'

/** That of the fixtures, which cannot be imported outside of a test. */
const masterKey = Buffer.from('0123456789abcdef'.repeat(4), 'hex')

const quiet = { info: () => {}, warn: () => {}, error: () => {} }
const onFatal = (fault: Error) => {
  throw fault
}
const store = await openStore(JSON.parse(process.argv[2] ?? ''), { masterKey, log: quiet, onFatal })
const [head] = await store.siteHeads({ after: undefined, limit: 1 })
if (head === undefined) throw new Error('the store has no site')
for (;;) {
  const ppid = parsePpid(`did:service:ppid_${randomBytes(12).toString('hex')}`) as Ppid
  await store.revokeUser({ siteId: head.siteId, ppid, reason: undefined }, { actor: 'operator', atMs: 0 })
  console.log((await writeCheckpointAtEnd(store, 0)).position)
}
