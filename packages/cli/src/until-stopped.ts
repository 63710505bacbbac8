/** Fires when the process is told to stop; a second time ends it at once. */
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
