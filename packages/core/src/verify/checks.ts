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
import { isPromise } from '../is-promise.ts'
import { checkProof } from '../proof/check.ts'
import { parseDidKey } from '../proof/did.ts'
import type { PublicKey } from '../proof/keys.ts'
import { findSuite } from '../proof/suites.ts'
import { CheckOrderError, type VerificationContext } from './context.ts'
import { checkLink, checkLinkSignature } from './delegation.ts'
import {
  checkDelegationAllowed,
  checkExpiry,
  checkGrounds,
  checkNotRevoked,
  checkRetirement,
  findIssuer,
  findKey,
  signatureInvalid,
} from './grounds.ts'
import { type Holders, listHolders } from './holders.ts'
import type { RevocationData } from './revocation-data.ts'
import { checkScopeGranted, limitScope } from './scope.ts'

/**
 * Stale data denies everything with this one code: the list of trusted issuers may be stale too, so
 * no other answer would be reliable.
 */
export function checkAge({ site, ageMs, ageMsMax }: RevocationData): Denial | undefined {
  // NaN and Infinity are always stale, even if `ageMsMax` is Infinity.
  if (site.trusted && Number.isFinite(ageMs) && ageMs <= ageMsMax) return undefined
  return deny(
    'revocation_view_stale',
    'The revocation data of this verifier is stale. Try again in a moment.',
  )
}

export function checkFreshness(context: VerificationContext): Denial | undefined {
  return checkAge(context.data)
}

export function checkReading(context: VerificationContext): Denial | undefined | Promise<Denial | undefined> {
  const { presented } = context
  if ('header' in presented) return checkHeader(context, presented.header)
  if (!('signed' in presented)) throw new TypeError('a bearer token has checks of its own')
  // Only our own parser guarantees that the claims match the signed bytes.
  if (!isReadCredential(presented.signed))
    throw new TypeError('present what readCredentialObject or readCredentialBody has returned')
  context.signed = presented.signed
  context.credential = presented.signed.credential
  return undefined
}

function checkHeader(
  context: VerificationContext,
  header: string,
): Denial | undefined | Promise<Denial | undefined> {
  const { signatures } = context.data
  if (signatures === undefined || header.length > CREDENTIAL_HEADER_CHARS_MAX)
    return checkUncached(context, header)
  const known = signatures.findDigest(header)
  if (known !== undefined) return checkCached(context, header, known)
  const digest = signatures.digest(header)
  return typeof digest === 'string'
    ? checkAndMemoize(context, header, digest)
    : digest.then((d) => checkAndMemoize(context, header, d))
}

/** Only headers that were verified before are memoized. */
function checkAndMemoize(context: VerificationContext, header: string, digest: string): Denial | undefined {
  const denial = checkCached(context, header, digest)
  if (context.cached !== undefined) context.data.signatures?.memoize(header, digest)
  return denial
}

function checkCached(context: VerificationContext, header: string, digest: string): Denial | undefined {
  context.digest = digest
  context.cached = context.data.signatures?.find(digest)
  if (context.cached === undefined) return checkUncached(context, header)
  context.credential = context.cached
  context.holders = context.cached.holders
  return undefined
}

function checkUncached(context: VerificationContext, header: string): Denial | undefined {
  const read = readCredentialHeader(header)
  if ('ok' in read) return read
  context.signed = read
  context.credential = read.credential
  return undefined
}

export function checkIssuer(context: VerificationContext): Denial | undefined {
  const issuer = findIssuer(context.grounds, context.data.site)
  if (isDenial(issuer)) return issuer
  context.issuer = issuer
  return undefined
}

export function checkKey(context: VerificationContext): Denial | undefined {
  const key = findKey(context.grounds, context.issuer)
  if (isDenial(key)) return key
  context.key = key
  return undefined
}

function findSignedRoot({ signed }: VerificationContext): SignedCredential | undefined {
  let root = signed
  while (root?.parent !== undefined) root = root.parent
  return root
}

/** Passes if this header text was verified with this key before, or if it is verified now. */
export function checkSignature(
  context: VerificationContext,
): Denial | undefined | Promise<Denial | undefined> {
  if (context.cached !== undefined) {
    if (context.cached.key === context.key.key) return acceptSignature(context)
    // The issuer's key was replaced since, so the cached result does not apply.
    context.cached = undefined
    const unread =
      'header' in context.presented ? checkUncached(context, context.presented.header) : undefined
    if (unread !== undefined) return unread
  }
  const root = findSignedRoot(context)
  const suite = root && findSuite(root.proof.cryptosuite)
  if (root === undefined || suite === undefined)
    throw new CheckOrderError('no earlier check has read a signed credential')
  if (suite.algorithm !== context.key.key.algorithm)
    return deny(
      'credential_unsupported',
      'The proof.cryptosuite of the credential does not match the key of its issuer. Request a new one.',
    )
  if (root.proof.proofPurpose !== 'assertionMethod') return signatureInvalid
  const isValid = checkProof(root.document, context.key.key, suite, root.hasPlainStrings)
  if (typeof isValid === 'boolean') return isValid ? acceptSignature(context) : signatureInvalid
  return isValid.then((valid) => (valid ? acceptSignature(context) : signatureInvalid))
}

function acceptSignature(context: VerificationContext): undefined {
  context.signedBy = context.key.key
}

/**
 * Checks every link, starting at the root: the parent's holder must have signed it, and it must not
 * grant more than the parent. Both depend on the signed bytes only, so a cached chain is not
 * checked again.
 */
export function checkDelegation(
  context: VerificationContext,
): Denial | undefined | Promise<Denial | undefined> {
  // Throws unless the root signature was verified.
  const { signedBy } = context
  if (context.signed === undefined) return undefined
  return context.signed.parent === undefined
    ? cacheSignatures(context, signedBy)
    : checkLinks(context, context.signed, signedBy)
}

async function checkLinks(
  context: VerificationContext,
  leaf: SignedCredential,
  signedBy: PublicKey,
): Promise<Denial | undefined> {
  const links: { parent: Credential; child: SignedCredential }[] = []
  for (let child = leaf; child.parent !== undefined; child = child.parent)
    links.unshift({ parent: child.parent.credential, child })
  for (const { parent, child } of links) {
    const fault = (await checkLinkSignature(parent, child)) ?? checkLink(parent, child.credential)
    if (fault !== undefined) return fault
  }
  return cacheSignatures(context, signedBy)
}

/** All signatures are valid, and that never changes. Nothing else is cached. */
function cacheSignatures(context: VerificationContext, signedBy: PublicKey): undefined | Promise<undefined> {
  const holders = listHolders(context.credential)
  if (isPromise(holders)) return holders.then((later) => cacheWithHolders(context, signedBy, later))
  return cacheWithHolders(context, signedBy, holders)
}

function cacheWithHolders(context: VerificationContext, signedBy: PublicKey, holders: Holders): undefined {
  context.holders = holders
  const { digest, data } = context
  if (digest !== undefined && data.signatures !== undefined)
    context.credential = data.signatures.set(digest, context.credential, signedBy, holders)
}

/** Whether the issuer was allowed to sign this credential. */
export function checkIssuerLimits(context: VerificationContext): Denial | undefined {
  return (
    checkRetirement(context.grounds, context.key) ??
    checkLifetime(context) ??
    checkDelegationAllowed(context.grounds, context.data.site)
  )
}

function checkLifetime({ root, issuer, data }: VerificationContext): Denial | undefined {
  const lifeSeconds = (root.validUntilMs - root.validFromMs) / 1000
  const lifeSecondsMax = Math.min(
    CREDENTIAL_LIFETIME_SECONDS_MAX,
    data.site.settings.credentialTtlSecondsMax ?? CREDENTIAL_LIFETIME_SECONDS_MAX,
    issuer.credentialTtlSecondsMax ?? CREDENTIAL_LIFETIME_SECONDS_MAX,
  )
  if (lifeSeconds > lifeSecondsMax) {
    return deny(
      'issuer_untrusted',
      `The credential is valid for longer than the ${lifeSecondsMax} seconds that the site allows its issuer. Request a shorter one.`,
    )
  }
  // Without this, a credential that is signed long before it begins could outlive its revocation,
  // which is removed from the log some time after the longest lifetime.
  if (root.validUntilMs - root.createdMs > CREDENTIAL_LIFETIME_SECONDS_MAX * 1000) {
    return deny(
      'issuer_untrusted',
      'The credential ends more than 366 days after it was signed. Request a new one.',
    )
  }
  return undefined
}

export function checkTime(context: VerificationContext): Denial | undefined {
  return checkExpiry(context.grounds, context.demand.nowMs) ?? checkStart(context)
}

function checkStart({ credential, demand: { nowMs } }: VerificationContext): Denial | undefined {
  for (let link: typeof credential | undefined = credential; link !== undefined; link = link.parent) {
    if (!(Math.max(link.validFromMs, link.createdMs) <= nowMs + VALID_FROM_LEEWAY_MS)) {
      return deny(
        'credential_not_yet_valid',
        'The credential is not valid yet. Wait, or check the clocks of the issuer and the client.',
      )
    }
  }
  return undefined
}

export function checkSite({ credential, data: { site } }: VerificationContext): Denial | undefined {
  return credential.site === site.siteId
    ? undefined
    : deny(
        'site_mismatch',
        `This credential is not valid for ${site.siteId}. Present one that was issued for this site.`,
      )
}

/** Revoking one credential of a chain revokes everything delegated from it. */
export function checkRevocation(context: VerificationContext): Denial | undefined {
  return checkNotRevoked(context.grounds, context.data.site)
}

export function checkScope(context: VerificationContext): Denial | undefined {
  context.scope = limitScope(context.credential.scope, context.issuer.scope)
  return checkScopeGranted(context.scope, context.demand)
}

/** The last check, because it is the only one with a side effect: it consumes the nonce. */
export function checkHolder(context: VerificationContext): Denial | undefined | Promise<Denial | undefined> {
  const { holderKey } = context.credential
  return holderKey === undefined ? checkUnbound(context) : checkPossession(context, holderKey)
}

function checkUnbound({ data }: VerificationContext): Denial | undefined {
  if (data.site.settings.holderProof !== 'required') return undefined
  return deny(
    'proof_required',
    'This site accepts only holder-bound credentials. Request one, and sign every request with the holder key.',
  )
}

/**
 * Why a presentation that passed all checks would be denied now, except for a new proof of
 * possession. Everything that a log entry or the clock can change is checked again. Never waits.
 */
export function recheck(context: VerificationContext): Denial | undefined {
  return (
    checkFreshness(context) ??
    checkGrounds(context.grounds, context.data.site, context.demand.nowMs) ??
    checkStart(context) ??
    checkIssuer(context) ??
    checkKey(context) ??
    // By value: a view that was loaded again has new objects for the same keys.
    (context.key.key.multikey === context.signedBy.multikey ? undefined : signatureInvalid) ??
    checkLifetime(context) ??
    checkScope(context) ??
    (context.credential.holderKey === undefined ? checkUnbound(context) : undefined)
  )
}

async function checkPossession(context: VerificationContext, holderKey: string): Promise<Denial | undefined> {
  const { request, nonces, nowMs } = context.demand
  const key = parseDidKey(holderKey)
  if (request === undefined || nonces === undefined || key === undefined) {
    return deny(
      'proof_required',
      'The credential is holder-bound, but this verifier cannot check holder proofs. Use another verifier.',
    )
  }
  // The signed request must carry the credential under verification, not another one of the same
  // holder.
  const sent = request.header(CREDENTIAL_HEADER)
  if (
    'header' in context.presented &&
    !(sent?.length === 1 && sent[0]?.trim() === context.presented.header)
  ) {
    return deny(
      'proof_invalid',
      'The signed request does not contain the presented credential. Sign the request that you send.',
    )
  }
  const expected = {
    holderKey: key,
    holderDid: holderKey,
    nowMs,
    credentialHeaderSent: 'header' in context.presented,
  }
  const proof = await consumeHolderProof(request, expected, nonces)
  if (!proof.ok) return proof
  context.holder = proof.bodyChecked ? 'verified' : 'verified_without_body'
  return undefined
}
