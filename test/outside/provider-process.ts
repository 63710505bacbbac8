import { startForked } from '../process/forked.ts'

/**
 * The clients of the provider. A logout names the user to the first, and the session to the other.
 */
export const CLIENT_ID = 'agent'
export const SESSION_CLIENT_ID = 'agent-with-sessions'

export interface ProviderOptions {
  /** Where it sends the logouts of both clients. */
  readonly logoutUrl: string
}

/** `oidc-provider` in a process of its own, on a free port. */
export interface ProviderProcess {
  readonly issuer: string
  stop(): Promise<void>
}

export async function startProvider(options: ProviderOptions): Promise<ProviderProcess> {
  const { first, stop } = await startForked(new URL('./provider-app.ts', import.meta.url), options)
  return { issuer: (first as { readonly issuer: string }).issuer, stop }
}
