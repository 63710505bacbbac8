import { randomBytes } from 'node:crypto'
import { limits } from '@countersign/core/contract'
import type { Deps } from '../deps.ts'
import type { SignedIn } from '../keys/console-sessions.ts'
import { createId } from '../keys/ids.ts'
import { secretSha256 } from '../keys/secret-text.ts'
import { Problem } from '../problem.ts'
import type { AuditContext } from '../store/operations/audit.ts'

type SessionDeps = Pick<Deps, 'store' | 'consoleSessions'>

/**
 * Opens a session with the secret of a link. The session that the browser had before ends:
 * `beforeSecret` is its cookie. The answer has the secret of the new cookie, which is stored
 * nowhere. Throws `link_invalid`, in the same way for every link that is not valid.
 */
export async function openSession(
  { store, consoleSessions }: SessionDeps,
  link: string,
  beforeSecret: string | undefined,
  context: Pick<AuditContext, 'atMs' | 'requestId'>,
): Promise<SignedIn & { readonly secret: string }> {
  const secret = randomBytes(32).toString('base64url')
  const { atMs } = context
  const opened = await store.openConsoleSession(
    secretSha256(link),
    {
      sha256: secretSha256(secret),
      sessionId: createId('session_', atMs),
      expiresAtMs: atMs + limits.console_session_seconds * 1000,
      elevatedUntilMs: atMs + limits.console_elevated_seconds * 1000,
    },
    beforeSecret && secretSha256(beforeSecret),
    limits.console_sessions_per_person_max,
    context,
  )
  if (opened === undefined) throw new Problem('link_invalid')
  // Sessions that were replaced end on this node immediately.
  consoleSessions.forget(opened.person.personId)
  return { ...opened, secret }
}

/** Ends a session of that person, on this node immediately. Throws `not_found`. */
export async function endSession(
  { store, consoleSessions }: SessionDeps,
  personId: string,
  sessionId: string,
  context: AuditContext,
): Promise<void> {
  const ended = await store.endConsoleSession(personId, sessionId, context)
  // Also when the store fails: the cached session must not be used any more.
  consoleSessions.forget(personId)
  if (!ended) throw new Problem('not_found')
}
