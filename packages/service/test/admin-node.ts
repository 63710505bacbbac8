import { randomBytes } from 'node:crypto'
import type { DidKey, JsonObject, SiteId } from '@countersign/core'
import { credentialHeader } from '@countersign/core'
import { type EndpointId, endpoints, parseParameters, problems, refusalOf } from '@countersign/core/contract'
import { expect } from 'vitest'
import type * as z from 'zod'
import type { Caller, RouteAnswer } from '../src/answer.ts'
import type { Deps } from '../src/deps.ts'
import type { DidWebFetcher } from '../src/did-web/fetch-document.ts'
import { createApiKeys } from '../src/keys/api-keys.ts'
import { openServiceKeys } from '../src/keys/service-keys.ts'
import { createLogger } from '../src/logger.ts'
import { Problem } from '../src/problem.ts'
import type { RouteRequest } from '../src/route.ts'
import { routes } from '../src/routes/all.ts'
import { type Store, StoreUnavailable } from '../src/store/store.ts'
import { createSecrets } from './keys/secrets-double.ts'
import { openNode, operator, type TestNode, type Told } from './node.ts'
import { NOW } from './party.ts'

interface AdminAsk {
  readonly caller?: Caller
  readonly params?: Readonly<Record<string, string>>
  readonly query?: string
  readonly body?: unknown
}

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
  admin(id: EndpointId, ask?: AdminAsk): Promise<Told>
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
    show: (credential) => node.act(credentialHeader(credential)),
    admin: (id, ask) => admin(node.deps, id, ask),
  }
}

async function admin(
  deps: Deps,
  id: EndpointId,
  { caller = operator, params, query = '', body }: AdminAsk = {},
): Promise<Told> {
  const {
    request,
    answers,
    problems: promised,
  } = endpoints[id] as unknown as {
    request: Record<'params' | 'query' | 'body', z.ZodType | undefined>
    answers: Record<number, { body?: z.ZodType } | undefined>
    problems: readonly string[]
  }
  try {
    const parts = {
      params: fit(request.params, params, 'params'),
      query: fit(request.query, parseParameters(new URLSearchParams(query)), 'query'),
      body: fit(request.body, body, 'body'),
    }
    const route = routes[id] as unknown as (request: RouteRequest, deps: Deps) => Promise<RouteAnswer>
    const {
      status,
      body: answer,
      headers = {},
    } = await route({ ...parts, caller, requestId: 'req_1' } as unknown as RouteRequest, deps)
    expect(answers[status], `${id} does not promise ${status}`).toBeDefined()
    // As it will be on the wire.
    const sent = answer === undefined ? undefined : JSON.parse(JSON.stringify(answer))
    const schema = answers[status]?.body
    if (schema === undefined) expect(sent).toBeUndefined()
    else expect(schema.safeParse(sent).error).toBeUndefined()
    return { status, body: sent, headers }
  } catch (thrown) {
    if (thrown instanceof StoreUnavailable)
      return { status: 503, code: 'store_unavailable', body: undefined, headers: {} }
    if (!(thrown instanceof Problem)) throw thrown
    expect([...promised, 'validation_failed', 'not_found', 'request_malformed', 'rate_limited']).toContain(
      thrown.code,
    )
    const { code, detail, facts } = thrown
    return {
      status: problems[code].status,
      code,
      body: { code, detail, errors: facts.errors },
      headers: {},
      problem: thrown,
    }
  }
}

function fit(schema: z.ZodType | undefined, value: unknown, part: 'params' | 'query' | 'body'): unknown {
  if (schema === undefined) return undefined
  const result = schema.safeParse(value)
  if (result.success) return result.data
  const { code, errors } = refusalOf(result.error, part)
  throw new Problem(code, undefined, { errors })
}
