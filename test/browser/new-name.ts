import { TestRunner } from 'vitest'

/**
 * The name for this try of the test. A second try gets another one, because the first may have
 * revoked the user or left a row with that name.
 */
export function newName(name: string): string {
  const tries = TestRunner.getCurrentTest()?.result?.retryCount ?? 0
  return tries === 0 ? name : `${name}-${tries + 1}`
}
