import type { JsonObject } from '@countersign/core'
import { expect } from 'vitest'
import type { DevFile } from '../../packages/service/src/development/demo.ts'
import { checkContract } from '../../packages/service/test/contract-check.ts'

/**
 * `fetch`, for tests against a running service: every answer that passes through it has to be one
 * that the contract knows.
 */
export async function seenFetch(url: string | URL, init: SeenRequest = {}): Promise<Response> {
  const response = await fetch(url, init as RequestInit)
  const { pathname, search } = new URL(url)
  checkContract({
    method: init.method ?? 'GET',
    path: pathname + search,
    status: response.status,
    headers: Object.fromEntries(response.headers),
    text: await response.clone().text(),
  })
  return response
}

/** Clients spell a body that is not there as undefined. */
type SeenRequest = Omit<RequestInit, 'body'> & { readonly body?: RequestInit['body'] | undefined }

export interface Issued {
  readonly credential: JsonObject
  readonly credential_id: string
  readonly ppid: string
}

/** What a test needs to have, before an outside client comes in. */
export interface Asking {
  /** A credential of the demo site, for a user of its own. */
  issue(more: { readonly scope: readonly string[] }): Promise<Issued>
  tokenFor(credential: JsonObject): Promise<string>
  revoke(credentialId: string): Promise<void>
  /** An API key of the demo site that may do only this. */
  keyFor(...permissions: readonly string[]): Promise<SiteKey>
}

export interface SiteKey {
  readonly key_id: string
  readonly api_key: string
}

let users = 0

export function toAsking({ base_url, site_id, site_key }: DevFile): Asking {
  const post = async <T>(path: string, body: object, status: number): Promise<T> => {
    const headers = {
      'Content-Type': 'application/json',
      ...(path.endsWith('/exchange-proof') ? {} : { 'X-API-Key': site_key }),
    }
    const answer = await seenFetch(base_url + path, { method: 'POST', headers, body: JSON.stringify(body) })
    expect(answer.status, path).toBe(status)
    return (await answer.json()) as T
  }
  return {
    issue: (more) => post('/api/wallet/credentials', { site_id, user_ref: `user-${++users}`, ...more }, 201),
    tokenFor: async (credential) =>
      (await post<{ access_token: string }>('/api/auth/exchange-proof', { credential }, 200)).access_token,
    revoke: (credential_id) => post('/api/wallet/revoke', { credential_id, site_id }, 200),
    keyFor: (...permissions) => post(`/api/sites/${site_id}/keys`, { permissions }, 201),
  }
}
