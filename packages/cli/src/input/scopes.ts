import type { Given } from '../command.ts'

/**
 * Parses `--scope`, which may be repeated and may contain several scopes, separated by spaces or
 * commas. Undefined when none was given.
 */
export function parseScopes(given: Given, name = 'scope'): string[] | undefined {
  const all = given.list(name).flatMap((text) => text.split(/[\s,]+/).filter((scope) => scope !== ''))
  return all.length === 0 ? undefined : all
}
