import type { LogEntry } from '@countersign/core/contract'
import { say } from '../say.ts'

/** What each kind of entry of the log says, in the order in which pages offer them. */
export const entryWords: Readonly<Record<LogEntry['kind'], string>> = {
  'user.revoked': say('User revoked'),
  'user.signed_out': say('User signed out'),
  'user.reinstated': say('User reinstated'),
  'credential.revoked': say('Credential revoked'),
  'token.revoked': say('Token revoked'),
  'holder.revoked': say('Holder key revoked'),
  'issuer.trusted': say('Issuer trusted or changed'),
  'oauth_issuer.trusted': say('OAuth issuer trusted or changed'),
  'issuer.distrusted': say('Issuer distrusted'),
  'issuer.cut_off': say('Issuer cut off'),
  'key.retired': say('Key retired'),
  'key.compromised': say('Key compromised'),
  'site.changed': say('Site changed'),
  'site.cut_off': say('Site cut off'),
}
