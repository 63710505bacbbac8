import { type ChildProcess, fork } from 'node:child_process'

/**
 * The clients of the provider. A logout names the user to the first, and the session to the other.
 */
export const CLIENT_ID = 'agent'
export const SESSION_CLIENT_ID = 'agent-with-sessions'

/** `oidc-provider` in a process of its own, on a free port. */
export interface ProviderProcess {
  readonly issuer: string
  stop(): Promise<void>
}

const running = new Set<ChildProcess>()
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL')
})

/** Starts it. It sends the logouts of both clients to `logoutUrl`. */
export async function startProvider({ logoutUrl }: { readonly logoutUrl: string }): Promise<ProviderProcess> {
  const child = fork(new URL('./provider-app.ts', import.meta.url), {
    execArgv: ['--no-warnings'],
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    env: {
      PATH: process.env.PATH,
      NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE,
      LOGOUT_URL: logoutUrl,
    },
  })
  running.add(child)
  const issuer = await new Promise<string>((resolve, reject) => {
    child.once('message', (message) => resolve((message as { issuer: string }).issuer))
    child.once('exit', (code) => reject(new Error(`the identity provider ended with ${code}`)))
  })
  return {
    issuer,
    async stop() {
      const gone = new Promise((resolve) => child.once('exit', resolve))
      running.delete(child)
      child.kill('SIGKILL')
      await gone
    },
  }
}
