import { type Deny, deny, type HolderRequest, type SiteId } from '@countersign/core'
import { isLoopback } from '../base-url.ts'
import type { GuardBody, GuardRequest } from './request.ts'

const ABSOLUTE = /^https?:\/\/([^/?#\\@]+)([^?#]*)(\?[^#]*)?$/i

/** Turns a request into what its holder signed, or says why that cannot be told. */
export type HolderRequests = (request: GuardRequest, body: GuardBody) => HolderRequest | Deny

/**
 * A holder signs the host it calls, so that what was signed for one host is no good at another. Which host that was, the request alone cannot be
 * asked: whoever replays a signature also writes the Host line. So it counts only if it is `publicOrigin`, or without that the site itself, a name
 * below it, or this machine.
 */
export function createHolderRequests(siteId: SiteId, publicOrigin: URL | undefined): HolderRequests {
  const prefix = publicOrigin?.pathname.replace(/\/$/, '') ?? ''
  const scheme = publicOrigin?.protocol.slice(0, -1) as 'http' | 'https' | undefined
  return (request, body) => {
    const { method, url, header } = request
    if (body === 'too_large') return deny('request_too_large', 'the body is larger than this application takes in with a signed request')
    const parts = ABSOLUTE.exec(url)
    if (parts === null) return deny('proof_invalid', 'the address of this request cannot have been signed')
    const [, addressed = '', path = '', query = ''] = parts
    const authority = publicOrigin?.host ?? addressed
    if (publicOrigin === undefined && !isOurs(siteId, addressed)) {
      return deny('proof_invalid', 'this application does not know by which host name it is called; its operator must set publicOrigin')
    }
    return {
      method,
      authority,
      // Without publicOrigin TLS may have ended in front of us.
      ...(scheme === undefined ? {} : { scheme }),
      path: prefix + path,
      query,
      header: (name) => {
        const lines = header.call(request, name)
        return lines.length === 0 ? undefined : lines
      },
      body: body ?? 'none',
    }
  }
}

function isOurs(siteId: SiteId, authority: string): boolean {
  const host = authority.toLowerCase().replace(/:\d*$/, '')
  return host === siteId || host.endsWith(`.${siteId}`) || isLoopback(host)
}
