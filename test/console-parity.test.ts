import { globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type EndpointId, endpointList, endpoints } from '@countersign/core/contract'
import { expect, test } from 'vitest'

const SOURCES = join(import.meta.dirname, '../packages/console/src')

/** What no page of the console calls, and why. */
const EXCEPTIONS: Partial<Readonly<Record<EndpointId, string>>> = {
  protected_action: 'The action that the service protects itself: its callers have a credential.',
  exchange_proof: 'Holders exchange their credential for a token.',
  introspect: 'Resource servers check tokens with their API key.',
  revoke_token: 'Takes the token itself, which a console must never see; pages revoke it by its id.',
  forward_auth: 'Proxies call it for each request.',
  revocation_status: 'Public: pages load the credential itself, which says more.',
  wallet_page: 'A page for users.',
  site_logo: 'A picture on pages for users.',
  read_offer: 'The wallet of a user calls it.',
  claim_offer: 'The wallet of a user calls it.',
  start_sign_in: 'Sites start a sign-in of their users.',
  start_sign_in_by_link: 'Sites start a sign-in of their users.',
  sign_in_page: 'A page for users.',
  present: 'The sign-in page of a user calls it.',
  sign_in_callback: 'The browser of a user is sent there.',
  sign_in_callback_by_form: 'The browser of a user is sent there.',
  sign_in_result: 'Sites ask for the result of a sign-in.',
  acknowledge: 'Verifiers call it with their API key.',
  report_verdicts: 'Verifiers call it with their API key.',
  receive_logout: 'Identity providers send signals.',
  receive_token_revocation: 'Identity providers send signals.',
  receive_event: 'Identity providers send signals.',
  list_deliveries:
    'The page shows the deliveries of the site, filtered by webhook: the same rows, with more filters.',
  finish_provider_sign_in: 'The identity provider sends the browser there.',
  receive_provider_logout: 'The identity provider reports that a session has ended.',
  did_document: 'Verifiers of credentials read it.',
  jwks: 'Verifiers of tokens read it.',
  context: 'A document for readers of credentials.',
  openapi: 'A document for developers, linked from the docs.',
  docs: 'A page for developers, and a link is enough.',
  problem_page: 'A page for developers, and a link is enough.',
  alive: 'Load balancers ask for it.',
  ready: 'Load balancers ask for it; pages show the state of each node.',
  metrics: 'Monitoring systems read it, on another port.',
}

const LITERAL = /(['"`])((?:\$\{\w+\}|\/)[^'"`\n]*)\1/g

interface Source {
  /** With `{}` for every part that is known only when the page runs. */
  readonly paths: ReadonlySet<string>
  /** Methods of calls in this file. Without a method, a call is a GET. */
  readonly methods: ReadonlySet<string>
  readonly imports: readonly string[]
}

function readSource(file: string): Source {
  const text = readFileSync(join(SOURCES, file), 'utf8')
  const constants = [...text.matchAll(/\bconst (\w+) =\s*`([^`]*)`/g)]
  const paths = [...text.matchAll(LITERAL)].flatMap(([, , literal = '']) => resolve(literal, constants))
  const named = [...text.matchAll(/\bmethod: '(\w+)'/g)].map(([, method = '']) => method)
  const short = [...text.matchAll(/\b(post|patch)\(/gi)].map(([, method = '']) => method.toUpperCase())
  const imports = [...text.matchAll(/from '(\.[^']+)'/g)].map(([, name = '']) => join(dirname(file), name))
  return { paths: new Set(paths), methods: new Set(['GET', ...named, ...short]), imports }
}

/** All paths that the literal can be. Several functions may define the constant it begins with. */
function resolve(literal: string, constants: readonly RegExpExecArray[]): readonly string[] {
  const first = /^\$\{(\w+)\}/.exec(literal)?.[1]
  const begins = first === undefined ? [] : constants.filter(([, name]) => name === first)
  const all =
    begins.length === 0
      ? [literal]
      : begins.flatMap(([, , value = '']) => resolve(value + literal.slice(`\${${first}}`.length), constants))
  return all.map((path) =>
    path.replaceAll(/\$\{(?:[^{}]|\{[^{}]*\})*\}/g, '{}').replace(/^\/console(?=\/api)/, ''),
  )
}

const sources = new Map(
  globSync('**/*.{ts,tsx}', { cwd: SOURCES })
    .filter((file) => !file.startsWith('api/call'))
    .map((file) => [file, readSource(file)]),
)

/**
 * A file uses an endpoint when it has its path, and its method is in it or in a file that it
 * imports: the page of API keys gives its path to the list of keys, which makes the calls.
 */
function isUsed(id: EndpointId): boolean {
  const { method, path } = endpoints[id]
  const shape = path.replaceAll(/\{\w+\}/g, '{}')
  return [...sources.values()].some(
    ({ paths, methods, imports }) =>
      paths.has(shape) &&
      (methods.has(method) || imports.some((name) => sources.get(name)?.methods.has(method))),
  )
}

test('the scan finds paths and methods', () => {
  const found = [...sources.values()]
  expect(new Set(found.flatMap(({ paths }) => [...paths])).size).toBeGreaterThan(60)
  expect(isUsed('revoke_user')).toBe(true)
  expect(isUsed('protected_action')).toBe(false)
})

test('T27: every endpoint is used by a page of the console, or is an exception with a reason', () => {
  const missing = endpointList.filter(({ id }) => !isUsed(id) && EXCEPTIONS[id] === undefined)
  expect(missing.map(({ id, method, path }) => `${id}: ${method} ${path}`)).toEqual([])
})

test('T27: no exception is used by a page, and each has a reason', () => {
  for (const [id, reason] of Object.entries(EXCEPTIONS)) {
    expect(isUsed(id as EndpointId), id).toBe(false)
    expect(reason.length, id).toBeGreaterThan(10)
  }
})
