import { type Credential, type SignedCredential, toPermissionId } from '../credential/credential.ts'
import { type Denial, deny } from '../credential/denial.ts'
import { checkProof } from '../proof/check.ts'
import { didKeyMethod, parseDidKey } from '../proof/did.ts'
import { findSuite } from '../proof/suites.ts'

/** Denies a child that gets more than its parent has, or that does not belong to it. */
export function checkLink(parent: Credential, child: Credential): Denial | undefined {
  if (!parent.delegable) return invalid('its parent may not be delegated')
  if (parent.holderKey === undefined || child.holderKey === undefined)
    return invalid('every link of a chain must be holder-bound')
  if (child.issuer !== parent.holderKey) return invalid("its issuer is not its parent's holder key")
  if (child.site !== parent.site) return invalid('it is for another site than its parent')
  for (let link: Credential | undefined = parent; link !== undefined; link = link.parent) {
    // Otherwise revoking the child would revoke the credentials it was delegated from.
    if (link.id === child.id) return invalid('it has the id of a credential that it was delegated from')
  }
  if (child.ppid !== parent.ppid) return invalid('it is for another user than its parent')
  if (child.permissionId !== undefined && child.permissionId !== toPermissionId(parent))
    return invalid('it names another permission than its parent')
  if (!(child.validUntilMs <= parent.validUntilMs)) return invalid('it expires after its parent')
  if (!child.scope.every((scope) => parent.scope.includes(scope)))
    return invalid('it has a scope that its parent does not have')
  return undefined
}

/**
 * Whether exactly the holder of `parent` signed `child`. The key comes from the parent, never from
 * the child's own proof.
 */
export async function checkLinkSignature(
  parent: Credential,
  child: SignedCredential,
): Promise<Denial | undefined> {
  const key = parseDidKey(parent.holderKey)
  const suite = findSuite(child.proof.cryptosuite)
  const signedByHolder =
    key !== undefined &&
    suite?.algorithm === key.algorithm &&
    child.proof.proofPurpose === 'assertionMethod' &&
    child.credential.verificationMethod === didKeyMethod(key) &&
    (await checkProof(child.document, key, suite, child.hasPlainStrings))
  return signedByHolder ? undefined : invalid("its parent's holder key did not sign it")
}

function invalid(why: string): Denial {
  return deny(
    'delegation_invalid',
    `A delegated credential is invalid: ${why}. Delegate again from its parent.`,
  )
}
