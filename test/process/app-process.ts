import { type ChildProcess, fork } from 'node:child_process'
import type { DevFile } from '../../packages/service/src/development/demo.ts'
import { findScript } from './scripts.ts'

/** An application behind a guard, in a process of its own. */
export interface AppProcess {
  readonly url: string
  ask(path: string, headers?: Readonly<Record<string, string>>): Promise<Response>
  /** The status of its route for this credential. */
  orders(header: string): Promise<number>
  /** Opens its stream, and resolves once it has begun. `all` is what came until its end. */
  stream(headers: string | Readonly<Record<string, string>>): Promise<{ readonly all: Promise<string> }>
  state(): Promise<{ readonly ready: boolean; readonly seq: number; readonly ageMs: number | null }>
  stop(): Promise<void>
}

export interface AppOptions {
  readonly baseUrl: string
  readonly dev: DevFile
  readonly name: string
  readonly stalenessSeconds?: number
  readonly failsOpen?: boolean
}

const running = new Set<ChildProcess>()
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL')
})

/** Starts it, and waits until it would let a good credential in. */
export async function startApp({
  baseUrl,
  dev,
  name,
  stalenessSeconds = 30,
  failsOpen = false,
}: AppOptions): Promise<AppProcess> {
  const child = fork(findScript(new URL('./guarded-app.ts', import.meta.url)), {
    execArgv: ['--conditions=countersign-source', '--no-warnings'],
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    env: {
      PATH: process.env.PATH,
      NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE,
      BASE_URL: baseUrl,
      SITE_ID: dev.site_id,
      API_KEY: dev.site_key,
      VERIFIER_ID: name,
      STALENESS_SECONDS: String(stalenessSeconds),
      ...(failsOpen ? { FAILS_OPEN: '1' } : {}),
    },
  })
  running.add(child)
  const port = await new Promise<number>((resolve, reject) => {
    child.once('message', (message) => resolve((message as { port: number }).port))
    child.once('exit', (code) => reject(new Error(`the application ended with ${code}`)))
  })
  const url = `http://127.0.0.1:${port}`
  const ask: AppProcess['ask'] = (path, headers = {}) => fetch(url + path, { headers })
  const showing = (header: string) => ({ 'X-Service-Credential': header })
  return {
    url,
    ask,
    async orders(header) {
      const answer = await ask('/orders', showing(header))
      await answer.body?.cancel()
      return answer.status
    },
    async stream(headers) {
      const answer = await ask('/stream', typeof headers === 'string' ? showing(headers) : headers)
      if (answer.status !== 200) throw new Error(`the stream was refused with ${answer.status}`)
      return { all: answer.text().catch(() => 'cut') }
    },
    state: async () => (await ask('/state')).json() as ReturnType<AppProcess['state']>,
    async stop() {
      const gone = new Promise((resolve) => child.once('exit', resolve))
      running.delete(child)
      child.kill('SIGKILL')
      await gone
    },
  }
}
