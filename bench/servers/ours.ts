import { randomInt } from 'node:crypto'
import { createServer } from 'node:net'
import { permissions } from '@countersign/core/contract'
import { createApiKey } from '../../packages/service/src/actions/api-keys.ts'
import { createSite } from '../../packages/service/src/actions/create-site.ts'
import { readConfig } from '../../packages/service/src/config.ts'
import { createLogger } from '../../packages/service/src/logger.ts'
import { openService, type Service } from '../../packages/service/src/service.ts'
import { READ, SITE } from '../sample.ts'
import type { OursOptions, OursReady, Running } from './server.ts'

/**
 * The whole service as it stands, with one site. Limits on pace are out of the way, and so is the
 * refusal of work on a busy machine: that would only show how busy it is.
 */
export async function serveOurs({
  dataDir,
  databaseUrl,
  logLevel = 'warn',
  issuer,
  keys = 1,
}: OursOptions): Promise<Running<OursReady>> {
  const port = await freePort()
  const env = {
    COUNTERSIGN_DATA_DIR: dataDir,
    COUNTERSIGN_PORT: String(port),
    COUNTERSIGN_LOG_LEVEL: logLevel,
    COUNTERSIGN_PROTECTED_SITE: SITE,
    COUNTERSIGN_PROTECTED_SCOPE: READ,
    COUNTERSIGN_RATE_LIMIT_KEY: '999999999/10',
    COUNTERSIGN_RATE_LIMIT_KEYLESS: '999999999/10',
    COUNTERSIGN_VIEW_AGE_MS_MAX: '60000',
    COUNTERSIGN_OVERLOAD_EVENT_LOOP_DELAY_MS_MAX: '60000',
    ...(databaseUrl === undefined ? {} : { COUNTERSIGN_DATABASE_URL: databaseUrl }),
  }
  const service = await openService(readConfig('development', { env }), {
    log: createLogger(logLevel),
    onFatal: (fault) => {
      throw fault
    },
  })
  const [apiKey = '', ...others] = await prepare(service, issuer, keys)
  await service.listen()
  const health = await fetch(`http://127.0.0.1:${port}/readyz`)
  if (health.status !== 200) throw new Error(`our own service is not ready: ${await health.text()}`)
  return { ready: { port, apiKey, apiKeys: [apiKey, ...others] }, close: () => service.close() }
}

async function prepare(
  { deps }: Service,
  { did, keyId, multikey }: OursOptions['issuer'],
  count: number,
): Promise<string[]> {
  const context = { actor: 'system', atMs: deps.clock.nowMs(), requestId: undefined }
  if (deps.views.view(SITE) === undefined) {
    await createSite(
      deps,
      {
        siteId: SITE,
        name: 'Bench',
        returnUrls: [],
        bearer: 'on',
        holderProof: 'optional',
        delegation: 'on',
        credentialTtlSecondsMax: undefined,
      },
      context,
    )
    const keys = [{ id: keyId, key: multikey, status: 'active' }] as const
    const bounds = { scope: undefined, credentialTtlSecondsMax: undefined, label: undefined, fetched: false }
    const added = await deps.store.addIssuer({ siteId: SITE, issuer: did, keys, ...bounds }, context)
    if (typeof added === 'object') await deps.views.waitFor(added.position)
  }
  const secrets: string[] = []
  for (let i = 0; i < count; i++) {
    const key = { siteId: SITE, permissions, label: 'bench', expiresInSeconds: undefined }
    secrets.push((await createApiKey(deps, key, context)).secret)
  }
  return secrets
}

/**
 * The address is part of the configuration, so it has to be known before anything listens. It is
 * below the ports that the system gives to outgoing connections: a start with very many revocations
 * takes long enough for one of those to be taken.
 */
async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(20_000, 32_000)
    if (await isFree(port)) return port
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
}
