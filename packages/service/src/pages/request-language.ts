import type { RouteRequest } from '../route.ts'
import { chooseLanguage } from './choose-language.ts'
import type { Messages } from './messages.ts'

/** The texts for a request: in the language that it names, or that its browser prefers. */
export function requestLanguage(lines: RouteRequest['lines'], uiLocales?: string): Messages {
  return chooseLanguage(uiLocales, lines('accept-language')?.join(','))
}
