import { constants, deflateRawSync, inflateRawSync } from 'node:zlib'

const toFinal = (part: Uint8Array) =>
  deflateRawSync(inflateRawSync(part, { finishFlush: constants.Z_SYNC_FLUSH }))

const followedBy =
  (...bytes: number[]) =>
  async (part: Uint8Array) =>
    Buffer.concat([part, Buffer.from(bytes)])

/** Compressed bytes that have the same text as a page, and that nothing can follow in a stream. */
export const unfitParts: readonly (readonly [string, (page: Uint8Array) => Promise<Uint8Array>])[] = [
  ['the right text in a final block', async (page) => toFinal(page)],
  ['the right text in a final block, and more bytes', (page) => followedBy(0, 0, 0, 255, 255)(toFinal(page))],
  ['the right text and an empty final block', followedBy(3, 0)],
  ['the right text and the first byte of a block', followedBy(0)],
  ['the right text and a block that ends inside a byte', followedBy(2, 0)],
]
