import { Agent, get } from 'node:http'
import type { ServerProcess } from '../processes.ts'
import { required, SITE } from '../sample.ts'
import type { Cost } from './commands.ts'

/** Snapshots that were fetched at the same time, and what they took of the service. */
export interface SnapshotCost extends Cost {
  readonly verifiers: number
  /** Of one snapshot as it goes over the wire, compressed. */
  readonly bytes: number
}

/** So many verifiers fetch the snapshot of the site at the same time. */
export async function fetchSnapshots(ours: ServerProcess<'ours'>, verifiers: number): Promise<SnapshotCost> {
  const agent = new Agent({ maxSockets: verifiers })
  const { port, apiKeys } = ours.ready
  const before = await ours.usage()
  const startedMs = performance.now()
  const fetched = await Promise.all(
    Array.from({ length: verifiers }, (_, i) =>
      fetchSnapshot(agent, port, required(apiKeys[i % apiKeys.length])),
    ),
  )
  const seconds = (performance.now() - startedMs) / 1000
  const cpuSeconds = ((await ours.usage()).cpuUs - before.cpuUs) / 1e6
  agent.destroy()
  return { verifiers, bytes: Math.max(...fetched), seconds, cpuSeconds }
}

function fetchSnapshot(agent: Agent, port: number, apiKey: string): Promise<number> {
  const headers = { 'x-api-key': apiKey, 'accept-encoding': 'gzip', 'feed-version': '1' }
  const options = { agent, port, host: '127.0.0.1', path: `/api/sites/${SITE}/snapshot`, headers }
  return new Promise((resolve, reject) => {
    const request = get(options, (answer) => {
      let bytes = 0
      answer.on('data', (chunk: Buffer) => {
        bytes += chunk.length
      })
      answer.once('error', reject)
      answer.once('end', () =>
        answer.statusCode === 200
          ? resolve(bytes)
          : reject(new Error(`the snapshot was answered with ${answer.statusCode}`)),
      )
    })
    request.once('error', reject)
  })
}
