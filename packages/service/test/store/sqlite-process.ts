/**
 * A process of its own with a store: `node sqlite-process.ts <file>`. Says `open`, then revokes
 * users until it ends, and names each.
 */
import { type Ppid, parsePpid, parseSiteId, type SiteId } from '@countersign/core'
import { openStore } from '../../src/store/open.ts'

/** That of the fixtures, which cannot be imported outside of a test. */
const MASTER_KEY = Buffer.from('0123456789abcdef'.repeat(4), 'hex')

const file = process.argv[2] ?? ''
const quiet = { info: () => {}, warn: () => {}, error: () => {} }
const store = await openStore(
  { kind: 'sqlite', file },
  {
    masterKey: MASTER_KEY,
    log: quiet,
    onFatal: (fault) => {
      console.log(`fatal ${fault.message}`)
      process.exit(70)
    },
  },
)
console.log('open')
const siteId = parseSiteId('a.example') as SiteId
const context = { actor: 'operator', atMs: 0, requestId: undefined }
await store.createSite(
  {
    siteId,
    name: undefined,
    returnUrls: [],
    bearer: 'on',
    holderProof: 'optional',
    delegation: 'on',
    credentialTtlSecondsMax: undefined,
    pairwiseSecretSealed: '',
  },
  context,
)
for (let i = 0; ; i++) {
  const ppid = parsePpid(`did:service:ppid_${process.pid}_${i.toString().padStart(8, '0')}`) as Ppid
  try {
    await store.revokeUser({ siteId, ppid, reason: undefined }, context)
    console.log(`revoked ${ppid}`)
  } catch (fault) {
    console.log(`refused ${(fault as Error).name}`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}
