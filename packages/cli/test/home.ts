import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Endpoint, endpoints } from '@countersign/core/contract'
import { expect } from 'vitest'
import { type DevProcess, startDevProcess } from '../../../scripts/dev-process.ts'
import { countersign, type Ended, type RunOptions } from './countersign.ts'

/** A directory with a development start in it, as a newcomer has it. */
export interface Home extends DevProcess {
  readonly directory: string
  file(name: string): string
  /** Runs the command in this directory. */
  run(argv: readonly string[], options?: RunOptions): Promise<Ended>
  close(): Promise<void>
}

export async function openHome(): Promise<Home> {
  const directory = mkdtempSync(join(tmpdir(), 'countersign-cli-'))
  const service = await startDevProcess({ dataDir: join(directory, 'data') })
  return {
    ...service,
    directory,
    file: (name) => join(directory, name),
    run: (argv, options = {}) => countersign(argv, { cwd: directory, ...options }),
    async close() {
      await service.stop()
      rmSync(directory, { recursive: true, force: true })
    },
  }
}

type EndpointId = keyof typeof endpoints

/** Fails unless this is exactly what the contract says that the endpoint answers with. */
export function expectAnswer(id: EndpointId, value: unknown): void {
  const { answers } = endpoints[id] as Endpoint
  const [body] = [200, 201, 202].flatMap((status) => answers[status]?.body ?? [])
  expect(body?.safeParse(value).error, JSON.stringify(value).slice(0, 500)).toBeUndefined()
}

/** An address at which nothing listens. */
export async function nowhere(): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return `http://127.0.0.1:${port}`
}
