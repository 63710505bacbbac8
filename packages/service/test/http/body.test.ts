import { once } from 'node:events'
import { PassThrough } from 'node:stream'
import { describe, expect, test } from 'vitest'
import { readBody, requireBodyForm } from '../../src/http/body.ts'
import type { MountedEndpoint } from '../../src/http/respond.ts'

const endpoint = { bodyTypes: ['application/json'], request: {} } as unknown as MountedEndpoint
const formOf = (...contentTypes: string[]) =>
  requireBodyForm(
    { lines: (name) => ({ 'content-type': contentTypes, 'content-length': ['2'] })[name] },
    endpoint,
  )

describe('the media type of a body', () => {
  test.each([
    'application/json;',
    ' application/json ; ',
    'application/json;charset=utf-8;',
    'application/json ; charset = "utf-8" ; ',
    'APPLICATION/JSON;CHARSET=UTF-8',
  ])('may be written as %j', (contentType) => {
    expect(formOf(contentType)).toBe('json')
  })
  test.each([
    'application/json;;;',
    'application/json;charset=utf-8;charset=utf-8',
    'application/json;charset="utf-8',
    'application/json;charset=utf-16',
    'application/json;boundary=x',
    'application /json',
    ';charset=utf-8',
  ])('may not be written as %j', (contentType) => {
    expect(() => formOf(contentType)).toThrow(expect.objectContaining({ code: 'unsupported_media_type' }))
  })
  // Two hundred thousand blanks are more than fit into a header: what looks at each of them more
  // than a few times does not end in time.
  test.each(['application/json;charset=utf-8', 'application/json', 'application/json;', ''])(
    'is read in one go, however many blanks follow %j',
    (start) => {
      expect(() => formOf(`${start}${' '.repeat(200_000)}x`)).toThrow(
        expect.objectContaining({ code: 'unsupported_media_type' }),
      )
    },
  )
})

describe('a body', () => {
  test('of a client that was gone before it is read is cut, instead of waited for without end', async () => {
    const message = new PassThrough()
    message.write('{')
    message.destroy()
    await once(message, 'close')
    const raw = { message, bodyBytes: 0, bodyPieces: 0 } as unknown as Parameters<typeof readBody>[0]
    await expect(readBody(raw, endpoint)).rejects.toMatchObject({ code: 'request_malformed' })
  })
})
