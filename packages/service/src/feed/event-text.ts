import type { Entry, Heartbeat } from '@countersign/core'

/** An entry as an event of the feed. A reader that reconnects with its id continues after it. */
export function entryText(entry: Entry): string {
  return `id: ${entry.epoch}.${entry.seq}\nevent: ${entry.kind}\ndata: ${JSON.stringify(entry)}\n\n`
}

/** A heartbeat as an event, without an id: it adds nothing to the log. */
export function heartbeatText(heartbeat: Heartbeat): string {
  return `event: heartbeat\ndata: ${JSON.stringify(heartbeat)}\n\n`
}

/** The position at which a reader without a cursor begins, so that it can reconnect from there. */
export function positionText({ epoch, seq }: { readonly epoch: string; readonly seq: number }): string {
  return `id: ${epoch}.${seq}\n`
}

/** When to reconnect: a random time, so that readers do not all reconnect at the same time. */
export function retryText(msMin: number, msMax: number): string {
  return `retry: ${Math.round(msMin + Math.random() * (msMax - msMin))}\n\n`
}

/** A comment. Some proxies forward nothing before they have received this much. */
export const PADDING = `:${' '.repeat(2048)}\n\n`
