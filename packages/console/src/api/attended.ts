/** A request within this time after a key or a move of the pointer is taken for its effect. */
const ATTENDED_MS = 60_000

let lastInputMs = performance.now()

/** Call this for everything that a person does on the page. */
export function recordInput(): void {
  lastInputMs = performance.now()
}

/**
 * Whether a person uses this page. What an open page loads by itself does not keep a session in
 * use, so a screen that was left alone is signed out after 30 minutes.
 */
export function isAttended(): boolean {
  return performance.now() - lastInputMs < ATTENDED_MS
}
