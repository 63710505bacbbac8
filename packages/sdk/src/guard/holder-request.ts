import { type Denial, deny, type HolderRequest, isSiteHost, type SiteId } from '@countersign/core'
import type { GuardBody, GuardRequest } from './request.ts'

const ABSOLUTE = /^https?:\/\/([^/?#\\@]+)([^?#]*)(\?[^#]*)?$/i
/** The part of a Host header that a message may repeat. */
const HOST = /^[A-Za-z0-9.:[\]-]{1,255}$/

/** Converts a request to what its holder signed. */
export interface HolderRequests {
  /** The request as the holder signed it, or why that cannot be known. */
  read(request: GuardRequest, body: GuardBody): HolderRequest | Denial
  /**
   * What to add to the denial of a signature that is not one of `signed`: against which host it was
   * checked, and which option is wrong if callers use another one.
   */
  hintFor(signed: HolderRequest): string
  /** Whether `publicOrigin` says which host callers use. */
  readonly hasPublicOrigin: boolean
}

/**
 * A holder signs the host that it calls, so that a signature is valid at one host only. The guard
 * cannot trust the Host header, because a caller that replays a signature also writes it. So the
 * guard checks against `publicOrigin`; without it, the host of the request is accepted only if it
 * is the site's own name, or any loopback name where the site itself has one.
 */
export function createHolderRequests(siteId: SiteId, publicOrigin: URL | undefined): HolderRequests {
  const prefix = publicOrigin?.pathname.replace(/\/$/, '') ?? ''
  const scheme = publicOrigin?.protocol.slice(0, -1) as 'http' | 'https' | undefined
  return {
    read(request, body) {
      const { method, url, header } = request
      if (body === 'too_large')
        return deny(
          'request_too_large',
          'The body is larger than this application accepts with a signed request. Send a smaller one.',
        )
      const parts = ABSOLUTE.exec(url)
      if (parts === null)
        return deny(
          'proof_invalid',
          'The URL of this request is not absolute, so no signature can cover it. Send an http or https URL.',
        )
      const [, addressed = '', path = '', query = ''] = parts
      if (publicOrigin === undefined && !isSiteHost(addressed, siteId)) {
        const seen = HOST.test(addressed) ? `as ${addressed}` : 'under a name'
        return deny(
          'proof_invalid',
          `This application was called ${seen}, which is not the site ${siteId}. Its operator must set publicOrigin to the address that callers use.`,
        )
      }
      return {
        method,
        authority: publicOrigin?.host ?? addressed,
        // Without publicOrigin, a proxy in front may have terminated TLS.
        ...(scheme === undefined ? {} : { scheme }),
        path: prefix + path,
        query,
        header: (name) => {
          const lines = header.call(request, name)
          return lines.length === 0 ? undefined : lines
        },
        body: body ?? 'none',
      }
    },
    hasPublicOrigin: publicOrigin !== undefined,
    hintFor: ({ authority }) =>
      publicOrigin === undefined
        ? `This application was called as ${authority}. If callers use another host, its operator must set publicOrigin.`
        : `This application expects signatures for ${publicOrigin.origin}${prefix}, its publicOrigin.`,
  }
}
