import { describe, expect, it } from 'vitest'
import { readPicture } from '../../src/brand/read-picture.ts'
import { chunk, createJpeg, createPng, createWebp, SVG } from './pictures.ts'

const still = { isAnimated: false }

describe('readPicture', () => {
  it.each([
    ['PNG', createPng(40, 30), { type: 'image/png', width: 40, height: 30, ...still }],
    ['WebP (lossy)', createWebp('VP8 ', 40, 30), { type: 'image/webp', width: 40, height: 30, ...still }],
    ['WebP (lossless)', createWebp('VP8L', 40, 30), { type: 'image/webp', width: 40, height: 30, ...still }],
    ['WebP (extended)', createWebp('VP8X', 40, 30), { type: 'image/webp', width: 40, height: 30, ...still }],
    ['JPEG', createJpeg(40, 30), { type: 'image/jpeg', width: 40, height: 30, ...still }],
  ])('reads the size of a %s', (_name, bytes, expected) => {
    expect(readPicture(bytes)).toEqual(expected)
  })

  it.each([
    ['PNG', createPng(8, 8, { before: [chunk('acTL', Buffer.alloc(8))] })],
    ['WebP', createWebp('VP8X', 8, 8, 0x02)],
  ])('says that a %s is animated', (_name, bytes) => {
    expect(readPicture(bytes)).toMatchObject({ isAnimated: true })
  })

  it.each([
    ['nothing', Buffer.alloc(0)],
    ['an SVG', SVG],
    ['a page', Buffer.from('<!doctype html><script>alert(1)</script>')],
    ['a GIF', Buffer.from('GIF89a\x08\x00\x08\x00', 'latin1')],
    ['an icon', Buffer.from('00000100010010100000', 'hex')],
    ['a PNG without pixels', createPng(0, 8)],
    ['a JPEG without pixels', createJpeg(8, 0)],
    ['the signature of a PNG alone', createPng().subarray(0, 8)],
    ['the signature of a JPEG alone', Buffer.from('ffd8ff', 'hex')],
    ['a WebP of an unknown kind', Buffer.from('RIFF____WEBPJUNK____________')],
  ])('A337: %s is not a picture', (_name, bytes) => {
    expect(readPicture(bytes)).toBeUndefined()
  })

  it('A338: a picture that is cut off anywhere before its data states nothing, and throws nothing', () => {
    for (const [whole, end] of [
      [createPng(), createPng().indexOf('IDAT')],
      [createWebp('VP8X', 8, 8), 30],
      [createWebp('VP8L', 8, 8), 25],
      [createJpeg(8, 8), createJpeg(8, 8).indexOf('ffc0', 0, 'hex') + 9],
    ] as const)
      for (let length = 0; length < end; length++)
        expect(readPicture(whole.subarray(0, length)), String(length)).toBeUndefined()
  })

  it('A338: any bytes after a signature end the reading', () => {
    const random = (seed: number) => (seed * 48_271) % 2_147_483_647
    let seed = 7
    for (let round = 0; round < 2000; round++) {
      const bytes = Buffer.from(
        Array.from({ length: 64 }, () => {
          seed = random(seed)
          return seed & 0xff
        }),
      )
      for (const start of ['89504e470d0a1a0a0000000d49484452', 'ffd8ff', '524946460000000057454250'])
        expect(() => readPicture(Buffer.concat([Buffer.from(start, 'hex'), bytes]))).not.toThrow()
    }
  })
})
