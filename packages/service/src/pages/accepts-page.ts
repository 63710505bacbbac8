import type { RouteRequest } from '../route.ts'

/** Whether the client asks for a page, as browsers do. Programs ask for JSON or for anything. */
export function acceptsPage(lines: RouteRequest['lines']): boolean {
  return lines('accept')?.some((line) => /\btext\/html\b/i.test(line)) ?? false
}
