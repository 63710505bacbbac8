import type { Permission } from '@countersign/core/contract'
import { say } from '../say.ts'

/** What each permission of an API key allows, in the order in which pages offer them. */
export const permissionWords: Readonly<Record<Permission, string>> = {
  'feed:read': say('Follow the log, as verifiers do'),
  'tokens:introspect': say('Check bearer tokens'),
  'site:read': say('Read all lists, and change nothing'),
  'credentials:revoke': say('Revoke users and credentials'),
  'tokens:revoke': say('Revoke bearer tokens'),
  'credentials:reinstate': say('Reinstate users'),
  'credentials:issue': say('Issue credentials and offers'),
  'site:admin': say('Change everything at this site, also trust and keys'),
}
