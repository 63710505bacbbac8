import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type OwnPostgres, startOwnPostgres } from '../packages/service/test/store/postgres-server.ts'

const FLAGS = [
  // Many test files use it at the same time.
  'max_connections=500',
  // It would visit each of many small databases again and again.
  'autovacuum_naptime=1h',
  'max_wal_size=2GB',
  'checkpoint_timeout=1h',
].flatMap((flag) => ['-c', flag])

/** Lets the first test that needs PostgreSQL start it, for all tests of all projects. */
export async function setup(): Promise<(() => Promise<void>) | undefined> {
  if (process.env.TEST_POSTGRES_STARTER !== undefined) return undefined
  let server: Promise<OwnPostgres> | undefined
  const starter = createServer(async (_, response) => {
    server ??= startOwnPostgres(FLAGS)
    // A kept connection may be closed here at the moment in which it is used again.
    response.setHeader('Connection', 'close')
    try {
      response.end((await server).url)
    } catch (fault) {
      response.writeHead(500).end(String(fault))
    }
  })
  await new Promise<void>((resolve) => starter.listen(0, '127.0.0.1', resolve))
  const { port } = starter.address() as AddressInfo
  process.env.TEST_POSTGRES_STARTER = `http://127.0.0.1:${port}`
  return async () => {
    starter.close()
    starter.closeAllConnections()
    await (await server)?.stop()
  }
}
