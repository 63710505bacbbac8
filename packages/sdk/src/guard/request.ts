/**
 * A request, as an adapter passes it to a guard. Nothing may be decoded, joined or normalized: the
 * holder signed what was sent, and the guard must see that a caller has sent two credentials.
 */
export interface GuardRequest {
  readonly method: string
  /**
   * Absolute, as the caller addressed it: scheme and host, then path and query exactly as in the
   * request line.
   */
  readonly url: string
  /** Every field line of that lower-case name, in order; an empty list when there is none. */
  header(name: string): readonly string[]
  /**
   * The raw bytes of the body, before any parser; undefined when there are none, `'unseen'` when
   * they were read before, `'too_large'` when the adapter's limit is exceeded: then the request is
   * denied with `request_too_large`. Called at most once per verification, and only when the
   * credential is bound to a holder key and otherwise valid. Leave it out where there cannot be a
   * body.
   */
  readonly body?: () => GuardBody | Promise<GuardBody>
}

export type GuardBody = Uint8Array | undefined | 'unseen' | 'too_large'

/**
 * Throws a TypeError for a request of a framework that was passed as it is, and for a `url` without
 * scheme and host. Adapters compute theirs, so only a plain `url` property is checked.
 */
export function requireGuardRequest(request: GuardRequest): void {
  if (typeof request?.header !== 'function')
    throw new TypeError(
      'the request must have a header function that returns every line of a field as a list; use an adapter, or see GuardRequest',
    )
  if (Object.hasOwn(request, 'url') && (typeof request.url !== 'string' || request.url.startsWith('/')))
    throw new TypeError(
      'the url of the request must be absolute, as the caller addressed it: https://shop.example/orders?page=2',
    )
}

/**
 * Every line of that field. Throws a TypeError for a `header` function that does not return a list,
 * as in many frameworks.
 */
export function readLines(request: GuardRequest, name: string): readonly string[] {
  const lines: unknown = request.header(name)
  if (!Array.isArray(lines))
    throw new TypeError(
      'the header function of the request must return a list of lines, empty when the field is absent',
    )
  return lines
}
