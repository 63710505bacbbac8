import { isIP } from 'node:net'
import { isLoopback } from '@countersign/core/contract'
import { Problem } from '../problem.ts'
import type { ConsolePlace } from './console-place.ts'
import type { RawRequest } from './raw-request.ts'

/** What passkeys are bound to. */
export interface PasskeyPlace {
  readonly origin: string
  /** The host name. */
  readonly rpId: string
}

type Lines = Pick<RawRequest, 'lines'>

/**
 * The origin of the page that asks, which must be that of the console. On loopback the console is
 * also known as localhost, because browsers bind no passkeys to IP addresses. Throws
 * `passkey_unavailable` for any other address.
 */
export function requirePasskeyPlace(request: Lines, place: ConsolePlace): PasskeyPlace {
  const found = findPasskeyPlace(request, place)
  if (found === undefined) throw new Problem('passkey_unavailable')
  return found
}

/** The same; undefined where passkeys cannot be used. */
export function findPasskeyPlace({ lines }: Lines, place: ConsolePlace): PasskeyPlace | undefined {
  const own = new URL(place.origin)
  const named = new URL(place.origin)
  if (isLoopback(own) && isAddress(own)) named.hostname = 'localhost'
  // A GET has no Origin. That Host is the sender's choice does not matter then: it grants nothing.
  const [from = `${own.protocol}//${lines('host')?.[0] ?? ''}`] = lines('origin') ?? []
  const isOwn = from === named.origin || (from === own.origin && !isAddress(own))
  return isOwn ? { origin: from, rpId: new URL(from).hostname } : undefined
}

function isAddress({ hostname }: URL): boolean {
  return isIP(hostname.replace(/^\[|\]$/g, '')) !== 0
}
