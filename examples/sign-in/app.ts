import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import {
  createGuard,
  createSignInCookies,
  finishSignIn,
  type SignedInSession,
  SignInError,
  startSignIn,
} from '@countersign/sdk'
import { homePage, problemPage, STYLE, type Visitor } from './pages.ts'

export interface ExampleOptions {
  /** Where the service is. */
  readonly baseUrl: string
  readonly siteId: string
  /** An API key of the site with `feed:read`: the guard follows the site's log with it. */
  readonly apiKey: string
  /**
   * Under which browsers reach this example; `${origin}/callback` is registered as a return URL of
   * the site.
   */
  readonly origin: string
  readonly scope: readonly string[]
}

interface Session extends SignedInSession {
  readonly scope: readonly string[]
}

/**
 * A small site that people sign in to. It keeps no passwords and learns no names: a session is what
 * the service said at the sign-in, and the guard says before every answer whether it still counts.
 */
export async function openExample({
  baseUrl,
  siteId,
  apiKey,
  origin,
  scope,
}: ExampleOptions): Promise<Server> {
  const guard = createGuard({ baseUrl, siteId, apiKey })
  await guard.ready()
  // Several tabs may sign in at the same time: each pending sign-in is a cookie of its own.
  const signIns = createSignInCookies({ secret: apiKey, secure: origin.startsWith('https:') })
  const sessions = new Memory<Session>()

  /** The visitor, with the state of the session that the cookie names. */
  const findVisitor = (request: IncomingMessage): Visitor => {
    const session = sessions.get(readCookie(request, SESSION))
    if (session === undefined) return { kind: 'anonymous' }
    const verdict = guard.isActive(session)
    if (verdict.active)
      return { kind: 'member', ppid: session.ppid, scope: session.scope, until: String(session.expiresAt) }
    // After `revocation_view_stale` the session may be active again when the guard has fresh data.
    // The other codes are final.
    return { kind: 'ended', code: verdict.code, detail: verdict.detail }
  }

  const routes: Readonly<
    Record<string, (request: IncomingMessage, response: ServerResponse, url: URL) => Promise<void> | void>
  > = {
    'GET /': (request, response, url) =>
      send(response, 200, homePage(siteId, findVisitor(request), url.searchParams.has('cancelled'))),

    // What the open page asks again and again, and what every protected route would ask.
    'GET /session': (request, response) => {
      const visitor = findVisitor(request)
      sendJson(response, visitor.kind === 'member' ? 200 : 401, visitor)
    },

    'GET /sign-in': async (request, response) => {
      const { authUrl, pending } = await startSignIn({
        baseUrl,
        siteId,
        returnUrl: `${origin}/callback`,
        scope,
      })
      redirect(response, authUrl, await signIns.keep(pending, request.headers.cookie))
    },

    'GET /callback': async (request, response, url) => {
      const { pending, setCookie } = await signIns.take(url, request.headers.cookie)
      response.setHeader('set-cookie', setCookie)
      const result = await finishSignIn({ baseUrl, callback: url, pending })
      const session: Session = {
        ppid: result.ppid,
        credentialId: result.credential_id,
        verifiedAt: result.verified_at,
        expiresAt: result.expires_at,
        issuer: result.issuer,
        oldestCreatedAt: result.oldest_created_at,
        credentialChain: result.credential_chain,
        holderThumbprints: result.holder_thumbprints,
        scope: result.scope,
      }
      // A new id at every sign-in, so that an attacker cannot have planted it.
      redirect(response, '/', [...setCookie, cookie(SESSION, sessions.keep(session), 86_400)])
    },

    'POST /sign-out': (request, response) => {
      sessions.forget(readCookie(request, SESSION))
      redirect(response, '/', [cookie(SESSION, '', 0)])
    },

    'GET /page.js': (_request, response) =>
      send(response, 200, PAGE_SCRIPT, 'text/javascript; charset=utf-8'),

    // For this shop, and for the service, which fetches it once and shows it on its own pages.
    'GET /logo.png': (_request, response) => send(response, 200, LOGO, 'image/png'),

    'GET /shop.css': (_request, response) => send(response, 200, STYLE, 'text/css; charset=utf-8'),
  }

  const server = createServer(async (request, response) => {
    const url = new URL(request.url ?? '/', origin)
    const route = routes[`${request.method} ${url.pathname}`]
    if (route === undefined) return send(response, 404, problemPage('There is nothing here.'))
    try {
      await route(request, response, url)
    } catch (error) {
      // Too late, or not from this browser: the person has to start again.
      const isOver = error instanceof SignInError
      // People may change their mind: that is no failure. The new address is clean.
      if (isOver && error.reason === 'access_denied')
        return redirect(response, '/?cancelled', [response.getHeader('set-cookie') ?? []].flat().map(String))
      if (!isOver) console.error(error)
      send(
        response,
        isOver ? 400 : 502,
        problemPage(isOver ? error.message : 'Signing in does not work right now. Try again in a moment.'),
      )
    }
  })
  server.on('close', () => void guard.close())
  return server
}

const SESSION = 'example-session'
const LOGO = readFileSync(new URL('logo.png', import.meta.url))

/** Asks whether the session is still active, while the page is open. */
const PAGE_SCRIPT = `setInterval(async () => {
  const response = await fetch('/session')
  if (response.status === 401) location.reload()
}, 1000)
`

/**
 * What belongs to a browser, by an id that only that browser has. The oldest go when there are too
 * many.
 */
class Memory<T> {
  private readonly kept = new Map<string, T>()

  keep(value: T): string {
    const id = randomBytes(32).toString('base64url')
    this.kept.set(id, value)
    const [oldest] = this.kept.keys()
    if (this.kept.size > 10_000 && oldest !== undefined) this.kept.delete(oldest)
    return id
  }
  get(id: string | undefined): T | undefined {
    return id === undefined ? undefined : this.kept.get(id)
  }
  forget(id: string | undefined): void {
    if (id !== undefined) this.kept.delete(id)
  }
}

/**
 * Behind https, add Secure and the prefix __Host-. Lax, because the browser comes back from another
 * site.
 */
function cookie(name: string, value: string, seconds: number): string {
  return `${name}=${value}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Lax`
}

function readCookie({ headers }: IncomingMessage, name: string): string | undefined {
  return new RegExp(`(?:^|; )${name}=([A-Za-z0-9_-]{43})(?:;|$)`).exec(headers.cookie ?? '')?.[1]
}

const HEADERS = {
  'cache-control': 'no-store',
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
  'x-content-type-options': 'nosniff',
}

function send(
  response: ServerResponse,
  status: number,
  body: string | Uint8Array,
  type = 'text/html; charset=utf-8',
): void {
  response.writeHead(status, { ...HEADERS, 'content-type': type }).end(body)
}

function sendJson(response: ServerResponse, status: number, body: object): void {
  send(response, status, JSON.stringify(body), 'application/json')
}

function redirect(response: ServerResponse, location: string, cookies: readonly string[]): void {
  response.writeHead(303, { ...HEADERS, location, 'set-cookie': [...cookies] }).end()
}
