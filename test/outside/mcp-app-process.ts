import { on } from 'node:events'
import { startForked } from '../process/forked.ts'

export interface McpAppOptions {
  readonly baseUrl: string
  readonly siteId: string
  readonly apiKey: string
  /** The issuer that clients are sent to. */
  readonly authorizationServer: string
}

/** What the process says: where it listens, and that the tool `watch` has begun. */
export type McpAppReport = { readonly url: string } | { readonly watch: 'begun' }

/** An MCP server behind a guard, in a process of its own. */
export interface McpApp {
  readonly url: string
  /** Resolves when the tool `watch` has begun once more. It runs until its access ends. */
  watchBegun(): Promise<void>
  stop(): Promise<void>
}

/** Starts it, and waits until it would accept a valid token. */
export async function startMcpApp(options: McpAppOptions): Promise<McpApp> {
  const { child, first, ended, stop } = await startForked(new URL('./mcp-app.ts', import.meta.url), options)
  const reports = on(child, 'message')
  return {
    url: (first as { readonly url: string }).url,
    watchBegun: async () => void (await Promise.race([reports.next(), ended])),
    stop,
  }
}
