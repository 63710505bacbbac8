import { randomBytes } from 'node:crypto'
import type { DidKey, JsonObject, SiteId } from '@countersign/core'
import { credentialHeader } from '@countersign/core'
import type { EndpointId } from '@countersign/core/contract'
import type { DidWebFetcher } from '../src/did-web/fetch-document.ts'
import { createApiKeys } from '../src/keys/api-keys.ts'
import { openServiceKeys } from '../src/keys/service-keys.ts'
import { createLogger } from '../src/logger.ts'
import type { Store } from '../src/store/store.ts'
import { createSecrets } from './keys/secrets-double.ts'
import { type Ask, openNode, operator, type TestNode, type Told } from './node.ts'
import { NOW } from './party.ts'

/**
 * A node with all that administration needs: keys of its own, API keys, and DID documents that the
 * test decides on.
 */
export interface AdminNode extends TestNode {
  readonly documents: Map<string, readonly DidKey[] | string>
  /** How often each document was fetched. */
  readonly fetched: string[]
  /** What was logged, a line each. */
  readonly logged: string[]
  admin(id: EndpointId, ask?: Ask): Promise<Told>
  /** `POST /api/protected/action` with this credential. */
  show(credential: JsonObject): Promise<Told>
}

let made = 0
/** The name of a site that no test has used before. */
export const newSiteId = () => `site-${++made}.example` as SiteId

/** Its keys are not those of the store, which others may share, but its own. */
export async function openAdminNode(store: Store, home: SiteId): Promise<AdminNode> {
  const node = await openNode(store, home)
  const documents: AdminNode['documents'] = new Map()
  const fetched: string[] = []
  const logged: string[] = []
  const didWeb: DidWebFetcher = {
    async fetch(did) {
      fetched.push(did)
      const found = documents.get(did) ?? 'the DID document could not be fetched'
      return typeof found === 'string' ? { fault: found } : { keys: found, leftOut: [] }
    },
  }
  // The node's own routes work with the same object.
  Object.assign(node.deps, {
    keys: await openServiceKeys(createSecrets(), randomBytes(32), 'https://service.example', NOW),
    apiKeys: createApiKeys(store),
    didWeb,
    log: createLogger('trace', { write: (line: string) => void logged.push(line) }),
  })
  return {
    ...node,
    documents,
    fetched,
    logged,
    show: (credential) => node.context(credentialHeader(credential)),
    admin: (id, ask) => node.ask(id, { caller: operator, ...ask }),
  }
}
