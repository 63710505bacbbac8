import { endpointList, limits } from '@countersign/core/contract'
import type { Route } from '../route.ts'
import { SERVICE_VERSION } from '../version.ts'

const SUITES = ['eddsa-jcs-2022', 'ecdsa-jcs-2019']
const DID_METHODS = ['key', 'jwk', 'web']
/** Keys change rarely, and are published well before they sign. */
const SHORT = { 'cache-control': 'public, max-age=15' }

/** GET /.well-known/countersign */
export const discovery: Route<'discovery'> = async (_request, { config, keys }) => ({
  status: 200,
  headers: SHORT,
  body: {
    base_url: config.baseUrl,
    service_version: SERVICE_VERSION,
    did: keys.issuerDid,
    endpoints: Object.fromEntries(endpointList.map(({ id, path }) => [id, config.baseUrl + path])),
    limits,
    rate_limits: config.rateLimits,
    cryptosuites: SUITES,
    did_methods: DID_METHODS,
    feed: {
      version: 1,
      keys: keys.feedKeys.map(({ kid, key }) => ({ kid, public_key_multibase: key.multikey })),
      chain: [...keys.feedKeyChain],
    },
  },
})

/** GET /.well-known/did.json */
export const didDocument: Route<'did_document'> = async (_request, { keys }) => ({
  status: 200,
  headers: SHORT,
  body: keys.didDocument(),
})

/** GET /.well-known/jwks.json */
export const jwks: Route<'jwks'> = async (_request, { keys }) => ({
  status: 200,
  headers: SHORT,
  body: keys.jwks(),
})
