/** Options of every adapter. */
export interface RequireCredentialOptions {
  /** How large the body of a request with a holder-bound credential may be; it is held in memory. Default 1 MiB. Larger ones are refused with 413. */
  readonly bodyBytesMax?: number
}

export const BODY_BYTES_MAX = 1024 * 1024
