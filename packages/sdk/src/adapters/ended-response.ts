/**
 * The same response, whose body ends when the signal fires. Calls `over` when the body ends for any
 * reason.
 *
 * A stream ends normally, because servers print a stack trace for a body that fails. A body with a
 * `Content-Length` ends with an error instead: it must not look complete, and the connection must
 * not be reused.
 */
export function endWithSignal(
  signal: AbortSignal,
  response: Response,
  over: () => void,
  method: string,
): Response {
  const { body } = response
  // Of an answer to HEAD, no server reads the body.
  if (body === null || method === 'HEAD') {
    over()
    return response
  }
  const reader = body.getReader()
  const hasLength = response.headers.has('content-length')
  let stop = () => {}
  const finish = () => {
    signal.removeEventListener('abort', stop)
    over()
  }
  const passed = new ReadableStream<Uint8Array>({
    start(controller) {
      stop = () => {
        finish()
        if (hasLength) controller.error(signal.reason)
        else controller.close()
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
