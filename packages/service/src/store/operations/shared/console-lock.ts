/** Links, sessions and the status of one person are written one after the other. */
export function consoleLock(personId: string): string {
  return `console ${personId}`
}
