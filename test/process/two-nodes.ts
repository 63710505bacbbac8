import type { DevFile } from '../../packages/service/src/development/demo.ts'
import {
  freePort,
  type PostgresServer,
  startPostgres,
} from '../../packages/service/test/store/postgres-server.ts'
import { openProxy, type TcpProxy } from '../../packages/service/test/store/tcp-proxy.ts'
import { type Client, createClient } from './client.ts'
import {
  cleanUp,
  createHome,
  type ServiceHome,
  type ServiceProcess,
  startFurnished,
  startService,
} from './service-process.ts'

/** Two nodes on one PostgreSQL. Only the second reaches the database through `proxy`. */
export interface TwoNodes {
  readonly server: PostgresServer
  readonly home: ServiceHome
  readonly dev: DevFile
  readonly proxy: TcpProxy
  readonly first: ServiceProcess
  readonly one: Client
  second: ServiceProcess
  two: Client
  /** Starts the second node again, after it was killed. */
  startSecond(): Promise<void>
  /** Ends all processes of this test file, and the database. */
  close(): Promise<void>
}

/** `env`: more settings of both nodes. */
export async function startTwoNodes(env: Readonly<Record<string, string>> = {}): Promise<TwoNodes> {
  const server = await startPostgres()
  const home = await createHome({ databaseUrl: await server.createTables() })
  const first = await startFurnished(home, { env })
  const proxy = await openProxy(server.port)
  const throughProxy = new URL(home.databaseUrl ?? '')
  throughProxy.host = `127.0.0.1:${proxy.port}`
  const startSecond = async () =>
    startService(home, { port: await freePort(), databaseUrl: throughProxy.href, env })
  const second = await startSecond()
  const { dev } = first
  const nodes: TwoNodes = {
    server,
    home,
    dev,
    proxy,
    first,
    one: createClient(first.url, dev),
    second,
    two: createClient(second.url, dev),
    async startSecond() {
      nodes.second = await startSecond()
      nodes.two = createClient(nodes.second.url, dev)
    },
    async close() {
      await cleanUp()
      await proxy.close()
      await server.stop()
    },
  }
  return nodes
}
