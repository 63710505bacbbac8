import type { JsonObject, SiteId } from '@countersign/core'
import type { SignalType } from '../store/operations/signals.ts'

/** A sender of signals, registered with an OAuth issuer of a site. */
export interface SignalSender {
  readonly type: SignalType
  /** `iss` of its tokens, compared character by character. */
  readonly issuer: string
  /** Without a key set of its own, it signs with the keys of the OAuth issuer. */
  readonly keys: { readonly jwksUri: string } | { readonly jwks: readonly JsonObject[] } | undefined
  readonly audience: readonly string[]
  /** How it names users: by the subject of access tokens, or by an email that is the `user_ref`. */
  readonly subject: 'sub' | 'email_is_user_ref'
  /** The OAuth issuer that it is registered with. */
  readonly tokenIssuer: string
}

/** Finds the senders of a site by the issuer of their tokens. */
export type FindSenders = (
  siteId: SiteId,
  type: SignalType,
  issuer: string,
) => Promise<readonly SignalSender[]>
