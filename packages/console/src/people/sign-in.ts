import { CallProblem, send } from '../api/call.ts'
import { isSignedIn, load } from '../api/session.ts'
import { say } from '../say.ts'

/** The secret in a pasted link, or the secret itself. */
export function findLink(text: string): string | undefined {
  return /(?:^|#link=)([A-Za-z0-9_-]{43})$/.exec(text.trim())?.[1]
}

/** Uses a link, once. The cookie of the new session is set then. */
export async function signInWithLink(link: string): Promise<void> {
  try {
    await send('/console/session', { method: 'POST', body: { link } })
  } catch (fault) {
    if (fault instanceof CallProblem && fault.code === 'link_invalid')
      throw new Error(say('This link was used before or has expired. Make a new one.'), { cause: fault })
    throw fault
  }
}

/**
 * Reads the session of this browser, which another tab may have opened. False without one. Never
 * resolves for another person than that of the page: see `load`.
 */
export async function refreshSession(): Promise<boolean> {
  try {
    await load()
  } catch {
    return false
  }
  isSignedIn.value = true
  return true
}
