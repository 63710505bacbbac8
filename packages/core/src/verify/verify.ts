import { toPermissionId } from '../credential/credential.ts'
import type { Denial } from '../credential/denial.ts'
import { Case } from './case.ts'
import * as check from './checks.ts'
import type { Allow, Verdict, ViewStamp } from './decision.ts'
import type { Demand, Presented } from './demand.ts'
import type { TokenFacts } from './token.ts'
import { tokenScope } from './token-checks.ts'
import type { RevocationData } from './trust.ts'

/**
 * Every check that a credential passes, in this order, for the service and the SDK alike. Up to the
 * signature nothing may speak of a claim; from there on the claims are the issuer's word. `explain`
 * walks the same list.
 */
export const credentialChecks = [
  ['freshness', check.checkFreshness],
  ['reading', check.checkReading],
  ['issuer', check.checkIssuer],
  ['key', check.checkKey],
  ['signature', check.checkSignature],
  ['delegation', check.checkDelegation],
  ['issuer_limits', check.checkIssuerLimits],
  ['time', check.checkTime],
  ['site', check.checkSite],
  ['revocation', check.checkRevocation],
  ['scope', check.checkScope],
  ['holder', check.checkHolder],
] as const satisfies readonly (readonly [string, check.Check])[]

/**
 * The same without names. Taking pairs apart in the loop would cost an eighth of the time of a
 * remembered presentation.
 */
const runs: readonly check.Check[] = credentialChecks.map(([, run]) => run)

/**
 * Decides whether what is presented will do for what is demanded, by what is known. It reads no
 * clock, no network and no disk; the one step that may wait for a store is the last, where a holder
 * proof's nonce is used up. A refusal is a value; a throw means that we are broken.
 */
export async function verify(
  presented: Presented,
  demand: Demand,
  knowledge: RevocationData,
): Promise<Verdict> {
  return decide(presented, demand, knowledge)
}

/**
 * The same decision for callers in a hurry: it is there at once unless a signature, a digest or a
 * nonce has to be waited for. It throws at once too.
 */
export function decide(
  presented: Presented,
  demand: Demand,
  knowledge: RevocationData,
): Verdict | Promise<Verdict> {
  if ('token' in presented) return verdictOnToken(presented.token, demand, knowledge)
  const c = new Case(presented, demand, knowledge)
  for (let i = 0; i < runs.length; i++) {
    const answer = (runs[i] as check.Check)(c)
    // Most checks answer at once, and waiting for what is already here would cost more than the
    // check.
    if (answer instanceof Promise) return decideLater(c, answer, i + 1)
    if (answer !== undefined) return { ...answer, view: stampOf(knowledge) }
  }
  return allowed(c)
}

/** Goes on after a check that has to be waited for, with the check at `next`. */
async function decideLater(c: Case, waiting: Promise<Denial | undefined>, next: number): Promise<Verdict> {
  let denial = await waiting
  for (let i = next; denial === undefined && i < runs.length; i++) denial = await (runs[i] as check.Check)(c)
  // While a signature or a nonce was waited for, the log may have gone on. Nothing revoked in the
  // meantime is accepted.
  denial ??= check.recheck(c)
  return denial === undefined ? allowed(c) : { ...denial, view: stampOf(c.knowledge) }
}

function allowed({ credential, scope, signedBy, holder, knowledge }: Case): Verdict {
  return {
    ok: true,
    presented: 'credential',
    subject: {
      ppid: credential.ppid,
      siteId: knowledge.site.siteId,
      scope,
      credentialId: credential.id,
      permissionId: toPermissionId(credential),
      expiresAtMs: credential.validUntilMs,
    },
    view: stampOf(knowledge),
    credential,
    signedBy,
    holder,
  }
}

function stampOf({ site, ageMs }: RevocationData): ViewStamp {
  return { epoch: site.head.epoch, seq: site.head.seq, ageMs }
}

function verdictOnToken(token: TokenFacts, demand: Demand, knowledge: RevocationData): Verdict {
  const view = stampOf(knowledge)
  const scope = check.staleness(knowledge) ?? tokenScope(token, demand, knowledge.site)
  if (isDenied(scope)) return { ...scope, view }
  const [credentialId] = token.credentialIds
  if (credentialId === undefined) throw new TypeError('a token always comes from a credential')
  const { ppid, siteId, permissionId, expiresAtMs } = token
  const allow: Allow = {
    ok: true,
    presented: 'bearer',
    subject: { ppid, siteId, scope, credentialId, permissionId, expiresAtMs },
    view,
    token,
  }
  return allow
}

function isDenied(value: object): value is Denial {
  return 'ok' in value
}
