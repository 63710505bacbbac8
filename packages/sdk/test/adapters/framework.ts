import type { Guard } from '../../src/guard/guard.ts'
import type { Listening } from '../listening.ts'

/**
 * One framework with its adapter. `serve` brings up a real server, whose routes are:
 *
 * - `GET /orders`, `GET /api/v1/orders` in a mounted sub-app, and `GET /api/v1/nested/orders` in
 *   one inside that: `orders:read`; answers with what the handler knows of its caller, `{ ppid,
 *   scope, presented }`
 * - `POST /orders`: `orders:write`, at most 1,024 bytes of body; answers `{ received, holder }`,
 *   the parsed body and what the verdict says of the holder
 * - `GET /stream`: `orders:read`; writes `open\n` and then nothing until `getAccessSignal` fires;
 *   calls `onStreamEnd` with the reason
 * - `GET /broken`: `orders:read`; throws an Error with the message `mine`
 * - `POST /twice`: behind two guards, for any credential and for `orders:write`; answers as
 *   `POST /orders`
 * - `GET /failing-stream`: `orders:read`; asks for the access signal and then throws
 * - `GET /unguarded`: asks for the verdict though no guard stands in front
 * - the metadata of `RESOURCE`, and `GET /resource/orders`: as `/orders`, with that resource
 */
export interface Framework {
  readonly name: string
  serve(guard: Guard, onStreamEnd: (reason: unknown) => void): Promise<Listening>
}
