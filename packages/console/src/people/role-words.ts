import type { ConsoleRole } from '@countersign/core/contract'
import { say } from '../say.ts'

export const roleTitles: Readonly<Record<ConsoleRole, string>> = {
  viewer: say('Viewer'),
  responder: say('Responder'),
  issuing: say('Issuing desk'),
  admin: say('Admin'),
  operator: say('Operator'),
}

/** What a role may do at its site. */
export const roleWords: Readonly<Record<ConsoleRole, string>> = {
  viewer: say('sees everything, changes nothing'),
  responder: say('sees everything and revokes, never grants'),
  issuing: say('sees everything and issues credentials'),
  admin: say('everything at the site'),
  operator: say('everything at every site'),
}
