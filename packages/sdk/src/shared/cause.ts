const DEPTH_MAX = 8
const CHARS_MAX = 300

/**
 * The root cause of an error, for a person: `fetch` reports "fetch failed" and keeps the reason
 * (connection refused, unknown host, certificate) in its `cause`, or in the `errors` of an
 * AggregateError.
 */
export function describeCause(error: unknown): string {
  let inner: unknown = error
  for (let depth = 0; depth < DEPTH_MAX; depth++) {
    const { cause, errors } = (inner ?? {}) as { readonly cause?: unknown; readonly errors?: unknown }
    const next = cause ?? (Array.isArray(errors) ? errors[0] : undefined)
    if (next === undefined) break
    inner = next
  }
  const { code, message } = (inner ?? {}) as { readonly code?: unknown; readonly message?: unknown }
  const words = typeof message === 'string' && message !== '' ? message : String(inner)
  const text = typeof code === 'string' && !words.includes(code) ? `${code}: ${words}` : words
  return text.trim().slice(0, CHARS_MAX)
}

/** An address for a message: without the query, which may contain private data. */
export function describeAddress(url: string): string {
  return url.split('?', 1)[0] as string
}
