import { describe, expect, test } from 'vitest'
import { acceptsPage } from '../../src/pages/accepts-page.ts'

const accepts = (...accept: string[]) =>
  acceptsPage((name) => (name === 'accept' && accept.length > 0 ? accept : undefined))

describe('what a client asks for', () => {
  test.each([
    ['text/html'],
    ['text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8'],
    ['TEXT/HTML; Q=0.5'],
    ['text/html;charset=utf-8;q=1.000'],
    [' application/json;q=0.8 , text/html ;q=0.9'],
    ['application/xhtml+xml'],
    ['*/*', 'text/html'],
    ['text/html;level="a'],
  ])('a page: %s', (...accept) => {
    expect(accepts(...accept)).toBe(true)
  })

  test.each([
    [],
    [''],
    ['*/*'],
    ['application/json'],
    ['application/problem+json, text/html;q=0.9'],
    ['application/json, text/html;q=0.999'],
    ['text/html;q=0'],
    ['text/html;q=0.000, */*'],
    ['text/html;q=2'],
    ['text/html;q=-1'],
    ['text/html;q=NaN'],
    ['text/html;q='],
    ['text/htmlx'],
    ['xtext/html'],
    ['text/html/'],
    ['text/plain'],
    ['"text/html"'],
    [';text/html'],
    [`${'a/b,'.repeat(5000)}text/html`],
    [`${'\0'.repeat(9000)}text/html`],
  ])('JSON: %s', (...accept) => {
    expect(accepts(...accept)).toBe(false)
  })
})
