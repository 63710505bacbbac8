import type { KnownUser } from '@countersign/core/contract'

export const ENTRY_WORDS: Readonly<Record<KnownUser['last_entry']['kind'], string>> = {
  'user.revoked': 'Revoked',
  'user.reinstated': 'Reinstated',
  'user.signed_out': 'Signed out',
}
