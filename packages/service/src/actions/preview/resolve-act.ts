import { setImmediate as nextTurn } from 'node:timers/promises'
import type { CredentialId, EntryKind, Ppid, SiteId } from '@countersign/core'
import type { Caller } from '../../answer.ts'
import type { Deps } from '../../deps.ts'
import type { RouteRequest } from '../../route.ts'
import { resolveUser } from '../resolve-user.ts'
import type { Effect } from './effect.ts'

type ResolveDeps = Pick<Deps, 'store' | 'views' | 'keys'>
type Act = RouteRequest<'preview'>['body']['act']
type Target = Extract<Act, { type: 'revoke_targets' }>['targets'][number]

/** What an act would change. An issuer, key or token that does not exist changes nothing. */
export async function resolveAct(
  deps: ResolveDeps,
  siteId: SiteId,
  act: Act,
  caller: Caller,
): Promise<Effect> {
  switch (act.type) {
    case 'revoke_user':
      return resolveTargets(deps, siteId, [withoutType(act)])
    case 'revoke_credential':
    case 'revoke_token':
      return resolveTargets(deps, siteId, [withoutType(act)])
    case 'revoke_targets':
      return resolveTargets(deps, siteId, act.targets)
    case 'sign_out_user': {
      const signedOut = new Set(await resolveUser(deps, siteId, act))
      return { signedOut, kinds: ['user.signed_out'], isIrreversible: true }
    }
    case 'revoke_holder':
      return { holder: act.thumbprint, kinds: ['holder.revoked'], isIrreversible: true }
    case 'cut_off_issuer':
      return { cutOffIssuer: act.issuer, kinds: ['issuer.cut_off'], isIrreversible: true }
    case 'cut_off_site':
      return { cutsOffSite: true, kinds: ['site.cut_off'], isIrreversible: true }
    case 'distrust_issuer':
      return { distrusted: act.issuer, kinds: ['issuer.distrusted'], isIrreversible: false }
    case 'change_issuer_key': {
      const isCompromised = act.status === 'compromised'
      return {
        key: { issuer: act.issuer, id: act.key, status: act.status },
        kinds: [isCompromised ? 'key.compromised' : 'key.retired'],
        isIrreversible: isCompromised,
      }
    }
    case 'change_site': {
      const { bearer, delegation } = act
      const settings = { ...(bearer && { bearer }), ...(delegation && { delegation }) }
      return { settings, kinds: ['site.changed'], isIrreversible: false }
    }
    case 'delete_key': {
      const endsOwnAccess = caller.kind !== 'anonymous' && caller.keyId === act.key_id
      return { kinds: [], isIrreversible: true, endsOwnAccess, deletedKeyId: act.key_id }
    }
  }
}

function withoutType({ type: _, ...target }: { readonly type: string } & Target): Target {
  return target
}

async function resolveTargets(
  deps: ResolveDeps,
  siteId: SiteId,
  targets: readonly Target[],
): Promise<Effect> {
  const users = new Set<Ppid>()
  const credentialIds = new Set<CredentialId>()
  const tokenSha256s = new Set<string>()
  const kinds = new Set<EntryKind>()
  for (const { credential_id, token_id, ...user } of targets) {
    if (credential_id !== undefined) {
      credentialIds.add(credential_id)
      kinds.add('credential.revoked')
    } else if (token_id !== undefined) {
      const sha256 = await deps.store.tokenSha256(siteId, token_id)
      if (sha256 !== undefined) tokenSha256s.add(sha256)
      kinds.add('token.revoked')
    } else {
      for (const ppid of await resolveUser(deps, siteId, user)) users.add(ppid)
      kinds.add('user.revoked')
    }
    await nextTurn()
  }
  const isIrreversible = credentialIds.size + tokenSha256s.size > 0
  return { users, credentialIds, tokenSha256s, kinds: [...kinds], isIrreversible }
}
