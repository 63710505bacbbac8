import {
  METADATA_PATH,
  type ProtectedResourceOptions,
  type ResourceMetadata,
  readResourceMetadata,
} from '../guard/resource-metadata.ts'

export type { ProtectedResourceOptions, ResourceMetadata }

/** The response to a request for the metadata of a resource. */
export interface MetadataAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

const MAX_AGE_SECONDS = 300
/** Clients in browsers send headers of their own, such as `MCP-Protocol-Version`. */
const CORS = {
  'access-control-allow-origin': '*',
  'access-control-allow-methods': 'GET, HEAD, OPTIONS',
  'access-control-allow-headers': '*',
}

/**
 * Attaches the metadata to what an adapter serves them with, so that the same value can be passed
 * to `requireCredential` as `resource`.
 */
export function withMetadata<Serve extends object>(
  options: ProtectedResourceOptions,
  createServe: (resource: ResourceMetadata) => Serve,
): Serve & ResourceMetadata {
  const resource = readResourceMetadata(options)
  return Object.assign(createServe(resource), resource)
}

/** Throws a TypeError for anything but the result of a `protectedResource`. */
export function requireResource(resource: unknown): ResourceMetadata | undefined {
  if (resource === undefined) return undefined
  const { metadataUrl, metadata } = (resource ?? {}) as Partial<ResourceMetadata>
  if (typeof metadataUrl !== 'string' || typeof metadata !== 'object')
    throw new TypeError('resource must be what protectedResource has returned')
  return { metadataUrl, metadata }
}

/**
 * The response to a request for the metadata, at the address that the resource names and at the
 * root of its host, which clients try as well. Undefined for every other request. `target` is the
 * path of the request with its query.
 */
export function findMetadataAnswer(
  resource: ResourceMetadata | undefined,
  method: string,
  target: string,
): MetadataAnswer | undefined {
  // Most requests are not for the metadata.
  if (resource === undefined || !target.startsWith(METADATA_PATH)) return undefined
  const [path] = target.split('?', 1)
  if (path !== METADATA_PATH && path !== new URL(resource.metadataUrl).pathname) return undefined
  if (method === 'OPTIONS') return { status: 204, headers: CORS, body: '' }
  if (method !== 'GET' && method !== 'HEAD')
    return { status: 405, headers: { ...CORS, allow: 'GET, HEAD, OPTIONS' }, body: '' }
  const headers = {
    ...CORS,
    'content-type': 'application/json',
    'cache-control': `public, max-age=${MAX_AGE_SECONDS}`,
  }
  return { status: 200, headers, body: method === 'HEAD' ? '' : JSON.stringify(resource.metadata) }
}

/** The path and the query of an absolute URL. */
export function toTarget(url: string): string {
  const { pathname, search } = new URL(url)
  return pathname + search
}
