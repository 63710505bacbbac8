import type { KnownUser } from '@countersign/core/contract'
import { say } from '../say.ts'

export const ENTRY_WORDS: Readonly<Record<KnownUser['last_entry']['kind'], string>> = {
  'user.revoked': say('Revoked'),
  'user.reinstated': say('Reinstated'),
  'user.signed_out': say('Signed out'),
}
