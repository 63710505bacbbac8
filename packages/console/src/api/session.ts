import type { ConsoleDoors } from '@countersign/core/contract'
import { computed, signal } from '@preact/signals'
import { CallProblem, call, personOfPage, send, sessionEnded } from './call.ts'

type Role = 'viewer' | 'responder' | 'issuing' | 'admin' | 'operator'

/** Who is signed in. */
export interface Session {
  readonly person_id: string
  readonly name: string
  readonly roles: readonly { readonly site_id: string | null; readonly role: Role }[]
  /** Whether the service can start demo verifiers: in development only. */
  readonly has_demo_verifiers: boolean
  readonly expires_at: string
  readonly elevated_until: string | null
}

export interface Site {
  readonly site_id: string
  readonly name: string | null
}

export const session = signal<Session | undefined>(undefined)
export const sites = signal<readonly Site[]>([])
/** Undefined until the first answer. */
export const isSignedIn = signal<boolean | undefined>(undefined)

export const isOperator = computed(
  () => session.value?.roles.some(({ role }) => role === 'operator') === true,
)

/** The header of a call about this site: operators act as such everywhere. */
function roleAt(siteId: string): Role | undefined {
  const roles = session.value?.roles ?? []
  return (roles.find(({ role }) => role === 'operator') ?? roles.find((each) => each.site_id === siteId))
    ?.role
}

/** Whether the person may give access back to a user. */
export function mayReinstate(siteId: string | undefined): boolean {
  const role = siteId === undefined ? undefined : roleAt(siteId)
  return role === 'admin' || role === 'operator'
}

const MAY_REVOKE: readonly Role[] = ['responder', 'admin', 'operator']

export function mayRevoke(siteId: string | undefined): boolean {
  const role = siteId === undefined ? undefined : roleAt(siteId)
  return role !== undefined && MAY_REVOKE.includes(role)
}

/** Whether the person may change trust, keys and settings of the site. */
export function mayAdminister(siteId: string | undefined): boolean {
  const role = siteId === undefined ? undefined : roleAt(siteId)
  return role === 'admin' || role === 'operator'
}

/** Whether the person may issue credentials and offers. */
export function mayIssue(siteId: string | undefined): boolean {
  return mayAdminister(siteId) || (siteId !== undefined && roleAt(siteId) === 'issuing')
}

/** A sign-in link was opened in a browser with a session. The person decides which one stays. */
export interface LinkQuestion {
  /** The person who is signed in. */
  readonly name: string
  readonly answer: (isUsed: boolean) => void
}

export const linkQuestion = signal<LinkQuestion | undefined>(undefined)

/**
 * Signs in with the link in the address, if there is one, and finds out who is signed in. The
 * fragment is removed before anything else happens, so that it stays in no history. A link never
 * replaces a session without a question: another page may have opened it.
 */
export async function begin(): Promise<void> {
  const link = new URLSearchParams(location.hash.slice(1)).get('link')
  if (location.hash !== '') history.replaceState(null, '', location.pathname + location.search)
  try {
    if (link !== null && (await isLinkWanted()))
      await send('/console/session', { method: 'POST', body: { link } })
    await load()
    isSignedIn.value = true
    sessionEnded.value = false
  } catch (fault) {
    isSignedIn.value = false
    if (!(fault instanceof CallProblem && fault.code === 'session_required')) throw fault
  }
}

async function isLinkWanted(): Promise<boolean> {
  const name = await findSignedIn()
  if (name === undefined) return true
  const isUsed = await new Promise<boolean>((resolve) => {
    linkQuestion.value = { name, answer: resolve }
  })
  linkQuestion.value = undefined
  return isUsed
}

/** The name of the person whose session this browser has. */
async function findSignedIn(): Promise<string | undefined> {
  const doors = (await (await send('/console/doors')).json()) as ConsoleDoors
  if (!doors.has_session) return undefined
  try {
    return ((await (await send('/console/session')).json()) as Session).name
  } catch (fault) {
    if (fault instanceof CallProblem && fault.code === 'session_required') return undefined
    throw fault
  }
}

/**
 * Reads who is signed in, and which sites they may open. When it is another person than before, the
 * console begins again: what is on the page is not theirs.
 */
export async function load(): Promise<void> {
  const answer = await send('/console/session')
  const current = (await answer.json()) as Session
  personOfPage.value ??= current.person_id
  if (current.person_id !== personOfPage.value) {
    location.assign('/console/')
    // What waits for the sign-in must not be sent in their name.
    return new Promise(() => undefined)
  }
  session.value = current
  if (current.roles.length === 0) {
    sites.value = []
    return
  }
  const site = isOperator.value ? 'all' : (current.roles[0]?.site_id ?? 'all')
  const found = await call<{ items: readonly Site[] }>('/api/sites', { site, query: { limit: 200 } })
  sites.value = found.items
}

export async function signOut(): Promise<void> {
  await send('/console/session', { method: 'DELETE' })
  session.value = undefined
  personOfPage.value = undefined
  isSignedIn.value = false
}
