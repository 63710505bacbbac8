/** The same answer, whose body breaks off when the signal fires. `over` is called at its end, however it comes. */
export function endedBy(signal: AbortSignal, response: Response, over: () => void): Response {
  const { body } = response
  if (body === null) {
    over()
    return response
  }
  const reader = body.getReader()
  let stop = () => {}
  const finish = () => {
    signal.removeEventListener('abort', stop)
    over()
  }
  const passed = new ReadableStream<Uint8Array>({
    start(controller) {
      stop = () => {
        finish()
        controller.error(signal.reason)
        reader.cancel(signal.reason).catch(() => undefined)
      }
      if (signal.aborted) stop()
      else signal.addEventListener('abort', stop, { once: true })
    },
    async pull(controller) {
      try {
        const { done, value } = await reader.read()
        if (signal.aborted) return
        if (!done) return controller.enqueue(value)
        finish()
        controller.close()
      } catch (error) {
        finish()
        if (!signal.aborted) controller.error(error)
      }
    },
    async cancel(reason) {
      finish()
      await reader.cancel(reason)
    },
  })
  return new Response(passed, response)
}
