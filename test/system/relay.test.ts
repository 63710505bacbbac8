import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { DevFile } from '../../packages/service/src/development/demo.ts'
import { addIssuer, createClient, type Issuer } from '../process/client.ts'
import { playScenario } from '../process/fault-scenario.ts'
import { relayScenarios } from '../process/relay-scenarios.ts'
import { cleanUp, createHome, startFurnished } from '../process/service-process.ts'

const SETUP_MS_MAX = 300_000
const TEST_MS_MAX = 300_000
const ATTACK_MS = 16_000

let url: string
let dev: DevFile
let issuer: Issuer

beforeAll(async () => {
  const home = await createHome()
  const node = await startFurnished(home)
  dev = node.dev
  url = node.url
  issuer = await addIssuer(createClient(url, dev), dev)
}, SETUP_MS_MAX)
afterAll(cleanUp, SETUP_MS_MAX)

describe('a relay past TLS that forges whatever the service does not sign', () => {
  test.concurrent.each(['S1', 'S2', 'S3', 'S5'])(
    '%s: gets nothing accepted and locks nothing out',
    { tags: 'long', timeout: TEST_MS_MAX },
    async (finding) => {
      const scenario = relayScenarios({ url, dev, issuer, attackMs: ATTACK_MS }).find(
        (each) => each.finding === finding,
      )
      expect(scenario && (await playScenario(scenario))).toEqual([])
    },
  )
})
