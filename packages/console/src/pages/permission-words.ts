import type { Permission } from '@countersign/core/contract'

/** What each permission of an API key allows, in the order in which pages offer them. */
export const permissionWords: Readonly<Record<Permission, string>> = {
  'feed:read': 'Follow the log, as verifiers do',
  'tokens:introspect': 'Check bearer tokens',
  'site:read': 'Read all lists, and change nothing',
  'credentials:revoke': 'Revoke users and credentials',
  'tokens:revoke': 'Revoke bearer tokens',
  'credentials:reinstate': 'Reinstate users',
  'credentials:issue': 'Issue credentials and offers',
  'site:admin': 'Change everything at this site, also trust and keys',
}
