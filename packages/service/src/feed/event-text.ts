import type { Entry, Heartbeat } from '@countersign/core'

/** An entry as an event of the feed. A reader that connects again with its id goes on after it. */
export function entryText(entry: Entry): string {
  return `id: ${entry.epoch}.${entry.seq}\nevent: ${entry.kind}\ndata: ${JSON.stringify(entry)}\n\n`
}

/** Without an id of its own: it adds nothing to the log. */
export function heartbeatText(heartbeat: Heartbeat): string {
  return `event: heartbeat\ndata: ${JSON.stringify(heartbeat)}\n\n`
}

/**
 * Where a reader without a cursor has begun, so that it can go on from there even if no entry ever
 * comes.
 */
export function placeText({ epoch, seq }: { readonly epoch: string; readonly seq: number }): string {
  return `id: ${epoch}.${seq}\n`
}

/**
 * When to connect again. Different for each, so that those who lost their connection together do
 * not all come back together.
 */
export function retryText(msMin: number, msMax: number): string {
  return `retry: ${Math.round(msMin + Math.random() * (msMax - msMin))}\n\n`
}

/** A comment. Some proxies pass nothing on before they have so much of it. */
export const PADDING = `:${' '.repeat(2048)}\n\n`
