import type { ConsoleRole } from '@countersign/core/contract'

export const roleTitles: Readonly<Record<ConsoleRole, string>> = {
  viewer: 'Viewer',
  responder: 'Responder',
  issuing: 'Issuing desk',
  admin: 'Admin',
  operator: 'Operator',
}

/** What a role may do at its site. */
export const roleWords: Readonly<Record<ConsoleRole, string>> = {
  viewer: 'sees everything, changes nothing',
  responder: 'sees everything and revokes, never grants',
  issuing: 'sees everything and issues credentials',
  admin: 'everything at the site',
  operator: 'everything at every site',
}
