import { afterAll, beforeAll, describe } from 'vitest'
import type { Store } from '../../src/store/store.ts'
import { administrationSuite } from './suite-administration.ts'
import { checkpointSuite } from './suite-checkpoints.ts'
import { feedStreamSuite } from './suite-feed-streams.ts'
import { leaseSuite } from './suite-leases.ts'
import { logSuite } from './suite-log.ts'
import { peopleSuite } from './suite-people.ts'
import { retentionSuite } from './suite-retention.ts'
import { revocationSuite } from './suite-revocation.ts'
import { signInSuite } from './suite-sign-in.ts'
import { onceSuite } from './suite-single-use.ts'
import { tokenSuite } from './suite-tokens.ts'
import { webhookSuite } from './suite-webhooks.ts'

/** The promises of the store. Every implementation must pass this suite. */
export function storeSuite(name: string, open: () => Promise<Store>): void {
  describe(`the ${name} store`, () => {
    let store: Store
    beforeAll(async () => {
      store = await open()
    })
    afterAll(() => store?.close())

    administrationSuite(() => store)
    tokenSuite(() => store)
    revocationSuite(() => store)
    logSuite(() => store)
    checkpointSuite(() => store)
    feedStreamSuite(() => store)
    leaseSuite(() => store)
    onceSuite(() => store)
    signInSuite(() => store)
    webhookSuite(() => store)
    peopleSuite(() => store)
    retentionSuite(() => store)
  })
}
