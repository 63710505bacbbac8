import { DPOP_ALGORITHMS, type OAuthHints, type Scope, type SiteData } from '@countersign/core'
import { requireOptions } from '../shared/require-options.ts'

/** What OAuth clients learn about a protected resource (RFC 9728). */
export interface ProtectedResourceOptions {
  /**
   * The URL that clients know the resource by, for example `https://mcp.shop.example/mcp`. The
   * `audience` of its OAuth issuers at the site should contain it.
   */
  readonly resource: string
  /** The issuer URLs of the authorization servers, the preferred one first. */
  readonly authorizationServers: readonly string[]
  /** The scopes that clients may ask for, as the authorization servers spell them. */
  readonly scopes?: readonly string[]
  /** A name for users. */
  readonly name?: string
  /** The URL of a page for developers. */
  readonly documentation?: string
}

/** The metadata of a resource, and where they are. */
export interface ResourceMetadata {
  readonly metadataUrl: string
  readonly metadata: {
    readonly resource: string
    readonly authorization_servers: readonly string[]
    readonly bearer_methods_supported: readonly string[]
    readonly dpop_signing_alg_values_supported: readonly string[]
    readonly scopes_supported?: readonly string[]
    readonly resource_name?: string
    readonly resource_documentation?: string
  }
}

/** The part of a demand that challenges depend on. */
interface ResourceDemand {
  readonly resource?: ResourceMetadata | undefined
  readonly scope: readonly Scope[]
  readonly anyScope?: readonly Scope[]
}

export const METADATA_PATH = '/.well-known/oauth-protected-resource'
const LIST_MAX = 64
/** RFC 6749 §3.3. */
const SCOPE_TOKEN = /^[\x21\x23-\x5b\x5d-\x7e]{1,256}$/

/** Throws a TypeError for options that OAuth clients would reject. */
export function readResourceMetadata(options: ProtectedResourceOptions): ResourceMetadata {
  requireOptions<ProtectedResourceOptions>('protectedResource', options, {
    resource: 'string',
    authorizationServers: 'list',
    scopes: 'list',
    name: 'string',
    documentation: 'string',
  })
  const { resource, authorizationServers, scopes, name, documentation } = options
  const url = findPlainUrl(resource)
  if (url === undefined)
    throw new TypeError('resource must be an http or https URL without query, fragment and user name')
  if (!isShortList(authorizationServers, (one) => findPlainUrl(one) !== undefined))
    throw new TypeError('authorizationServers must be 1 to 64 issuer URLs')
  if (scopes !== undefined && !isShortList(scopes, (one) => SCOPE_TOKEN.test(one)))
    throw new TypeError('scopes must be 1 to 64 scopes of the authorization servers')
  if (documentation !== undefined && findPlainUrl(documentation) === undefined)
    throw new TypeError('documentation must be an http or https URL')
  // RFC 9728 §3.1: the well-known part comes between host and path. A slash that ends the path is
  // removed.
  const path = url.pathname.replace(/\/$/, '')
  return {
    metadataUrl: `${url.origin}${METADATA_PATH}${path}`,
    metadata: {
      resource,
      authorization_servers: [...authorizationServers],
      bearer_methods_supported: ['header'],
      dpop_signing_alg_values_supported: DPOP_ALGORITHMS,
      ...(scopes && { scopes_supported: [...scopes] }),
      ...(name && { resource_name: name }),
      ...(documentation && { resource_documentation: documentation }),
    },
  }
}

/**
 * What OAuth clients learn from the challenge of a denial. Scopes are those that the route demands
 * and those that the caller has already, as the first authorization server spells them: a client
 * that asks for more must not lose what it has.
 */
export function toHints(
  { resource, scope, anyScope = [] }: ResourceDemand,
  site: Pick<SiteData, 'oauthIssuer'>,
  granted: readonly Scope[] = [],
): OAuthHints | undefined {
  if (resource === undefined) return undefined
  const { metadataUrl, metadata } = resource
  const issuer = metadata.authorization_servers.map((one) => site.oauthIssuer(one)).find(Boolean)
  const spell = (wanted: Scope): string => {
    for (const [theirs, ours] of issuer?.policy.scopeMap ?? []) if (ours.includes(wanted)) return theirs
    return wanted
  }
  const wanted = new Set([...granted, ...scope, ...anyScope.slice(0, 1)].map(spell))
  return { resourceMetadata: metadataUrl, scope: [...wanted] }
}

function findPlainUrl(text: string): URL | undefined {
  const url = typeof text === 'string' && URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol)) return undefined
  // A quote would end the parameter of a challenge. URL encodes it in paths, but not everywhere.
  const isPlain = !text.includes('"') && `${url.username}${url.password}${url.search}${url.hash}` === ''
  return isPlain ? url : undefined
}

function isShortList(list: readonly string[], isValid: (one: string) => boolean): boolean {
  return list?.length > 0 && list.length <= LIST_MAX && list.every(isValid)
}
