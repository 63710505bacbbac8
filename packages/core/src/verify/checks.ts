import type { Credential, SignedCredential } from '../credential/credential.ts'
import { type Denial, deny, isDenial } from '../credential/denial.ts'
import { CREDENTIAL_HEADER } from '../credential/header.ts'
import {
  CREDENTIAL_HEADER_CHARS_MAX,
  CREDENTIAL_LIFETIME_SECONDS_MAX,
  VALID_FROM_LEEWAY_MS,
} from '../credential/limits.ts'
import { isReadCredential, readCredentialHeader } from '../credential/read.ts'
import { consumeHolderProof } from '../holder/consume.ts'
import { checkProof } from '../proof/check.ts'
import { parseDidKey } from '../proof/did.ts'
import type { PublicKey } from '../proof/keys.ts'
import { suiteNamed } from '../proof/suites.ts'
import { type Case, NotEstablished } from './case.ts'
import { linkFault, linkSignatureFault } from './delegation.ts'
import {
  checkExpiry,
  checkGrounds,
  checkNotRevoked,
  checkRetirement,
  findIssuer,
  findKey,
  signatureInvalid,
} from './grounds.ts'
import { scopeFault, scopeWithin } from './scope.ts'
import type { RevocationData } from './trust.ts'

/**
 * A check answers with a denial or with nothing at all. Checks never allow; only the end of the
 * list does.
 */
export type Check = (c: Case) => Denial | undefined | Promise<Denial | undefined>

/**
 * A verifier that cannot know stops saying yes (and says nothing else either: its list of issuers
 * may be just as old).
 */
export function staleness({ site, ageMs, ageMsMax }: RevocationData): Denial | undefined {
  // An age that is no number, or endless, is no knowledge, whatever the caller is willing to
  // accept.
  if (site.trusted && Number.isFinite(ageMs) && ageMs <= ageMsMax) return undefined
  return deny(
    'revocation_view_stale',
    'this verifier has not heard from the revocation log for too long; try again in a moment',
  )
}

export function checkFreshness(c: Case): Denial | undefined {
  return staleness(c.knowledge)
}

export function checkReading(c: Case): Denial | undefined | Promise<Denial | undefined> {
  const { presented } = c
  if ('header' in presented) return readHeader(c, presented.header)
  if (!('signed' in presented)) throw new TypeError('a bearer token has checks of its own')
  // Claims and signed bytes belong together only if our own reader took the one from the other.
  if (!isReadCredential(presented.signed))
    throw new TypeError('present what readCredentialObject or parseCredentialBody has returned')
  c.signed = presented.signed
  c.credential = presented.signed.credential
  return undefined
}

function readHeader(c: Case, header: string): Denial | undefined | Promise<Denial | undefined> {
  const { signatures } = c.knowledge
  if (signatures === undefined || header.length > CREDENTIAL_HEADER_CHARS_MAX) return readCold(c, header)
  const noted = signatures.findDigest(header)
  if (noted !== undefined) return recall(c, header, noted)
  const digest = signatures.digest(header)
  return typeof digest === 'string'
    ? recallAndNote(c, header, digest)
    : digest.then((d) => recallAndNote(c, header, d))
}

/** A header that only fails takes no place; one that was accepted before is noted. */
function recallAndNote(c: Case, header: string, digest: string): Denial | undefined {
  const denial = recall(c, header, digest)
  if (c.remembered !== undefined) c.knowledge.signatures?.memoize(header, digest)
  return denial
}

function recall(c: Case, header: string, digest: string): Denial | undefined {
  c.digest = digest
  c.remembered = c.knowledge.signatures?.find(digest)
  if (c.remembered === undefined) return readCold(c, header)
  c.credential = c.remembered
  return undefined
}

function readCold(c: Case, header: string): Denial | undefined {
  const read = readCredentialHeader(header)
  if ('ok' in read) return read
  c.signed = read
  c.credential = read.credential
  return undefined
}

export function checkIssuer(c: Case): Denial | undefined {
  const issuer = findIssuer(c.grounds, c.knowledge.site)
  if (isDenial(issuer)) return issuer
  c.issuer = issuer
  return undefined
}

export function checkKey(c: Case): Denial | undefined {
  const key = findKey(c.grounds, c.issuer)
  if (isDenial(key)) return key
  c.key = key
  return undefined
}

function rootOf({ signed }: Case) {
  let root = signed
  while (root?.parent !== undefined) root = root.parent
  return root
}

/**
 * Holds when exactly these bytes were found good under exactly this key before, or when they are
 * found good now.
 */
export function checkSignature(c: Case): Denial | undefined | Promise<Denial | undefined> {
  if (c.remembered !== undefined) {
    if (c.remembered.key === c.key.key) return signatureHeld(c)
    // The issuer's key has been replaced since. What was remembered speaks of another key, so it
    // says nothing.
    c.remembered = undefined
    const unread = 'header' in c.presented ? readCold(c, c.presented.header) : undefined
    if (unread !== undefined) return unread
  }
  const root = rootOf(c)
  const suite = root && suiteNamed(root.proof.cryptosuite)
  if (root === undefined || suite === undefined)
    throw new NotEstablished('nothing has been read that could be checked')
  if (suite.algorithm !== c.key.key.algorithm)
    return deny('credential_unsupported', 'proof.cryptosuite does not fit the key')
  if (root.proof.proofPurpose !== 'assertionMethod') return signatureInvalid
  const held = checkProof(root.document, c.key.key, suite)
  if (typeof held === 'boolean') return held ? signatureHeld(c) : signatureInvalid
  return held.then((h) => (h ? signatureHeld(c) : signatureInvalid))
}

function signatureHeld(c: Case): undefined {
  c.signedBy = c.key.key
}

/**
 * Every link from the root outwards: first that the parent's holder signed it, then that it gives
 * no more than the parent has. Both are settled once and for all by the signed bytes, so a
 * remembered chain is not asked again.
 */
export function checkDelegation(c: Case): Denial | undefined | Promise<Denial | undefined> {
  // Without a root whose signature holds there is nothing to hang links on, and nothing to
  // remember.
  const { signedBy } = c
  if (c.signed === undefined) return undefined
  return c.signed.parent === undefined ? remember(c, signedBy) : faultOfLinks(c, c.signed, signedBy)
}

async function faultOfLinks(
  c: Case,
  leaf: SignedCredential,
  signedBy: PublicKey,
): Promise<Denial | undefined> {
  const links: { parent: Credential; child: SignedCredential }[] = []
  for (let child = leaf; child.parent !== undefined; child = child.parent)
    links.unshift({ parent: child.parent.credential, child })
  for (const { parent, child } of links) {
    const fault = (await linkSignatureFault(parent, child)) ?? linkFault(parent, child.credential)
    if (fault !== undefined) return fault
  }
  return remember(c, signedBy)
}

/** All signatures hold now, and that never changes; nothing else is remembered. */
function remember(c: Case, signedBy: PublicKey): undefined {
  if (c.digest !== undefined) c.knowledge.signatures?.set(c.digest, c.credential, signedBy)
}

/** The signature is valid. Was the issuer allowed to sign this? */
export function checkIssuerLimits(c: Case): Denial | undefined {
  return checkRetirement(c.grounds, c.key) ?? lifetimeFault(c)
}

function lifetimeFault({ root, issuer, knowledge }: Case): Denial | undefined {
  const lifeSeconds = (root.validUntilMs - root.validFromMs) / 1000
  const lifeSecondsMax = Math.min(
    CREDENTIAL_LIFETIME_SECONDS_MAX,
    knowledge.site.settings.credentialTtlSecondsMax ?? CREDENTIAL_LIFETIME_SECONDS_MAX,
    issuer.credentialTtlSecondsMax ?? CREDENTIAL_LIFETIME_SECONDS_MAX,
  )
  if (lifeSeconds > lifeSecondsMax) {
    return deny(
      'issuer_untrusted',
      `this credential lives longer than the ${lifeSecondsMax} seconds that the site allows its issuer`,
    )
  }
  return undefined
}

export function checkTime(c: Case): Denial | undefined {
  return checkExpiry(c.grounds, c.demand.nowMs) ?? startFault(c)
}

function startFault({ credential, demand: { nowMs } }: Case): Denial | undefined {
  for (let link: typeof credential | undefined = credential; link !== undefined; link = link.parent) {
    if (!(Math.max(link.validFromMs, link.createdMs) <= nowMs + VALID_FROM_LEEWAY_MS)) {
      return deny('credential_not_yet_valid', 'the credential is not valid yet; check the clocks, or wait')
    }
  }
  return undefined
}

export function checkSite({ credential, knowledge: { site } }: Case): Denial | undefined {
  return credential.site === site.siteId
    ? undefined
    : deny('site_mismatch', `this credential is for another site than ${site.siteId}`)
}

/** Revoking one credential of a chain revokes everything delegated from it. */
export function checkRevocation(c: Case): Denial | undefined {
  return checkNotRevoked(c.grounds, c.knowledge.site)
}

export function checkScope(c: Case): Denial | undefined {
  c.scope = scopeWithin(c.credential.scope, c.issuer.scope)
  return scopeFault(c.scope, c.demand)
}

/** The last check, because it alone changes something: it uses the nonce up. */
export function checkHolder(c: Case): Denial | undefined | Promise<Denial | undefined> {
  const { holderKey } = c.credential
  return holderKey === undefined ? unboundFault(c) : provePossession(c, holderKey)
}

function unboundFault({ knowledge }: Case): Denial | undefined {
  if (knowledge.site.settings.holderProof !== 'required') return undefined
  return deny(
    'proof_required',
    'this site takes only holder-bound credentials, with a signature of the request by the holder key',
  )
}

/**
 * Why a presentation that passed all checks would be denied now, except for a new proof of
 * possession. Everything that a log entry or the clock can change is checked again. Never waits.
 */
export function recheck(c: Case): Denial | undefined {
  return (
    checkFreshness(c) ??
    checkGrounds(c.grounds, c.knowledge.site, c.demand.nowMs) ??
    startFault(c) ??
    checkIssuer(c) ??
    checkKey(c) ??
    // By value: a view that was loaded again has new objects for the same keys.
    (c.key.key.multikey === c.signedBy.multikey ? undefined : signatureInvalid) ??
    lifetimeFault(c) ??
    checkScope(c) ??
    (c.credential.holderKey === undefined ? unboundFault(c) : undefined)
  )
}

async function provePossession(c: Case, holderKey: string): Promise<Denial | undefined> {
  const { request, nonces, nowMs } = c.demand
  const key = parseDidKey(holderKey)
  if (request === undefined || nonces === undefined || key === undefined) {
    return deny('proof_required', 'this credential is holder-bound, and holder proofs cannot be checked here')
  }
  // What was signed must be what is judged, not another credential of the same holder that came
  // along.
  const sent = request.header(CREDENTIAL_HEADER)
  if ('header' in c.presented && !(sent?.length === 1 && sent[0]?.trim() === c.presented.header)) {
    return deny('proof_invalid', 'the signed request does not carry the credential that is presented')
  }
  const expected = {
    holderKey: key,
    holderDid: holderKey,
    nowMs,
    credentialHeaderSent: 'header' in c.presented,
  }
  const proof = await consumeHolderProof(request, expected, nonces)
  if (!proof.ok) return proof
  c.holder = proof.bodyChecked ? 'proven' : 'proven_body_unseen'
  return undefined
}
