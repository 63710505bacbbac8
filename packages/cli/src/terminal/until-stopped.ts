import { setTimeout } from 'node:timers/promises'

/** Aborts on SIGINT or SIGTERM. A second signal ends the process immediately. */
export function untilStopped(): AbortController {
  const controller = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => {
      if (controller.signal.aborted) process.exit(1)
      controller.abort()
    })
  }
  return controller
}

/** Waits, at most until `signal` aborts. Never rejects. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await setTimeout(ms, undefined, { signal }).catch(() => undefined)
}
