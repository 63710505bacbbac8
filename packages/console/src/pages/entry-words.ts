import type { LogEntry } from '@countersign/core/contract'

/** What each kind of entry of the log says, in the order in which pages offer them. */
export const entryWords: Readonly<Record<LogEntry['kind'], string>> = {
  'user.revoked': 'User revoked',
  'user.signed_out': 'User signed out',
  'user.reinstated': 'User reinstated',
  'credential.revoked': 'Credential revoked',
  'token.revoked': 'Token revoked',
  'holder.revoked': 'Holder key revoked',
  'issuer.trusted': 'Issuer trusted or changed',
  'oauth_issuer.trusted': 'OAuth issuer trusted or changed',
  'issuer.distrusted': 'Issuer distrusted',
  'issuer.cut_off': 'Issuer cut off',
  'key.retired': 'Key retired',
  'key.compromised': 'Key compromised',
  'site.changed': 'Site changed',
  'site.cut_off': 'Site cut off',
}
