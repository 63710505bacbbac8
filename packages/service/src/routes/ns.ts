import type { Route } from '../route.ts'

const NAMESPACE = 'https://w3id.org/countersign/access#'
const BOOLEAN = 'http://www.w3.org/2001/XMLSchema#boolean'
const term = (name: string, more = {}) => ({ '@id': NAMESPACE + name, ...more })

/**
 * The terms of access credentials. For readers of linked data: nothing here ever fetches or expands
 * a context.
 */
const context = {
  '@context': {
    '@version': 1.1,
    '@protected': true,
    AccessCredential: {
      '@id': `${NAMESPACE}AccessCredential`,
      '@context': {
        '@version': 1.1,
        '@protected': true,
        parent: term('parent', { '@container': '@graph' }),
        site_id: term('siteId'),
        scope: term('scope', { '@container': '@set' }),
        permission_id: term('permissionId'),
        holder_key: term('holderKey', { '@type': '@id' }),
        delegable: term('delegable', { '@type': BOOLEAN }),
      },
    },
  },
}

/** GET /ns/access/v1 */
export const accessContext: Route<'context'> = async () => ({
  status: 200,
  headers: { 'cache-control': 'public, max-age=86400', 'access-control-allow-origin': '*' },
  body: context,
})
