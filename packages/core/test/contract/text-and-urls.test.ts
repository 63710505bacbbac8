import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { siteName } from '../../src/contract/fields.ts'
import { personName } from '../../src/contract/people.ts'
import { isLine, isVisible } from '../../src/contract/text.ts'
import {
  isLoopback,
  parseLinkUrl,
  parseReturnUrl,
  parseSupportUrl,
  parseWebhookUrl,
} from '../../src/contract/urls.ts'
import { hostileLinks, hostileMails } from './hostile-links.ts'

describe('isLine', () => {
  test.each([
    '',
    'lost laptop',
    '<script>alert(1)</script> " \' %s {{y}} #{x}',
    "' OR 1=1 --",
    '日本語',
    'שלום\u200F',
    '👩‍👧',
    '\uFFFF',
    '%_\\',
  ])('takes %j', (text) => {
    expect(isLine(text, 256)).toBe(true)
  })

  test.each([
    'a\nb',
    'a\r\nb',
    'a\tb',
    'a\u0000b',
    '\u001b[31mred',
    '\u007f',
    'a\u0085b',
    'a\u2028b',
    'a\u2029b',
    '\u202Ecod',
    '\u2066x',
    '\ud800',
    '\udc00a',
    7,
    null,
    {},
  ])('rejects %j', (value) => {
    expect(isLine(value, 256)).toBe(false)
  })

  test('counts characters as JSON Schema does, by code points', () => {
    expect(isLine('😀'.repeat(64), 64)).toBe(true)
    expect(isLine('😀'.repeat(65), 64)).toBe(false)
    expect(isLine('a'.repeat(64), 64)).toBe(true)
    expect(isLine('a'.repeat(65), 64)).toBe(false)
  })

  test('accepts only what survives UTF-8 and stays on one line', { tags: 'long' }, () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        if (!isLine(text, 1000)) return
        expect(new TextDecoder().decode(new TextEncoder().encode(text))).toBe(text)
        expect(text.split(/\r\n|[\n\r\v\f\u0085\u2028\u2029]/)).toHaveLength(1)
      }),
    )
  })
})

const good = [
  'https://app.example/cb',
  'https://app.example/',
  'https://app.example:8443/cb?x=1&y=%20',
  'http://127.0.0.1:3000/cb',
  'http://localhost/cb',
  'http://[::1]:8080/cb',
  'http://demo.localhost:8787/cb',
]
const bad = [
  'http://app.example/cb',
  'ftp://app.example/cb',
  'javascript:alert(1)',
  'data:text/html,x',
  '//evil.example/cb',
  '/cb',
  'https:evil.example',
  '',
  'https://app.example',
  'https://app.example:443/cb',
  'https://APP.example/cb',
  'https://app.example/a/../cb',
  'https://app.example/cb#x',
  'https://app.example/cb#',
  'https://user@app.example/cb',
  'https://user:pw@app.example/cb',
  'https://@app.example/cb',
  'https://app.example\\@evil.example/cb',
  'https://app.example/c\\b',
  ' https://app.example/cb',
  'https://app.example/cb\n',
  'https://app.example/c\tb',
  'https://app.example/c b',
  'https://*.example/cb',
  'https://bücher.example/cb',
  'https://app.example./cb',
  'http://127.0.0.1.evil.example/cb',
  'http://localhost.evil.example/',
  'http://evil-localhost/',
  'http://127.1/cb',
  'http://2130706433/cb',
  `https://app.example/${'a'.repeat(2048)}`,
  7,
  null,
]

describe('the links of a site', () => {
  test.each([
    ['https://shop.example', 'https://shop.example/'],
    ['https://shop.example/legal?lang=de#privacy', 'https://shop.example/legal?lang=de#privacy'],
    ['https://SHOP.example/a/../b', 'https://shop.example/b'],
  ])('are used as they were parsed: %s', (sent, used) => {
    expect(parseLinkUrl(sent)?.href).toBe(used)
    expect(parseSupportUrl(sent)?.href).toBe(used)
  })

  test('may be a mail address, for help only', () => {
    expect(parseSupportUrl('mailto:help.me+shop@mail.shop.example')?.href).toBe(
      'mailto:help.me+shop@mail.shop.example',
    )
    expect(parseLinkUrl('mailto:help@shop.example')).toBeUndefined()
  })

  test.each(hostileLinks)('A339: %j is not one of them', (link) => {
    expect(parseLinkUrl(link)).toBeUndefined()
    expect(parseSupportUrl(link)).toBeUndefined()
  })

  test.each(hostileMails)('A339: %j is more than one mail address', (link) => {
    expect(parseSupportUrl(link)).toBeUndefined()
  })

  test('have at most 2048 characters, as they are used', () => {
    const start = 'https://shop.example/'
    expect(parseLinkUrl(start.padEnd(2048, 'a'))).toBeDefined()
    expect(parseLinkUrl(start.padEnd(2049, 'a'))).toBeUndefined()
    // The parser writes each as %27, which is longer.
    expect(parseLinkUrl(`${start}?`.padEnd(2048, "'"))).toBeUndefined()
  })
})

describe('parseReturnUrl', () => {
  test.each(good)('takes %s', (url) => {
    expect(parseReturnUrl(url)?.href).toBe(url)
  })

  test.each(bad)('rejects %j', (value) => {
    expect(parseReturnUrl(value)).toBeUndefined()
  })

  test('takes a URL in its canonical form only, so comparing bytes is comparing URLs', {
    tags: 'long',
  }, () => {
    fc.assert(
      fc.property(
        fc.webUrl({ validSchemes: ['https', 'http', 'ftp'], withQueryParameters: true, withFragments: true }),
        (url) => {
          const parsed = parseReturnUrl(url)
          if (parsed !== undefined)
            expect([parsed.href, parsed.hash, parsed.protocol]).toEqual([url, '', 'https:'])
        },
      ),
    )
  })
})

describe('parseWebhookUrl', () => {
  test.each(['https://hooks.example/in', 'https://hooks.example:8443/in?a=b', 'https://198.51.100.7/in'])(
    'takes %s',
    (url) => {
      const parsed = parseWebhookUrl(url)
      expect(parsed?.href).toBe(url)
      expect(parsed && isLoopback(parsed)).toBe(false)
    },
  )

  test.each([
    'http://127.0.0.1:9/hook',
    'https://localhost:3000/hook',
    'http://[::1]:4000/',
    'https://x.localhost/hook',
  ])('takes %s and says that it is loopback, for the service to allow or not', (url) => {
    const parsed = parseWebhookUrl(url)
    expect(parsed && isLoopback(parsed)).toBe(true)
  })

  test.each([
    'http://hooks.example/in',
    'ftp://hooks.example/',
    'ftp://127.0.0.1/',
    'file:///etc/passwd',
    'gopher://hooks.example/',
    'https://hooks.example:22/',
    'https://hooks.example:25/',
    'https://hooks.example:6379/',
    'https://hooks.example:443/',
    'https://user:pw@hooks.example/',
    'hooks.example',
    'https://',
    '//hooks.example/',
    'https://0xa9.0xfe.0xa9.0xfe/hook',
    'https://2852039166/hook',
    'https://⑩.0.0.1/hook',
    'https://127.1/hook',
    'https://localhost./hook',
    'https://LOCALHOST/hook',
  ])('rejects %s', (url) => {
    expect(parseWebhookUrl(url)).toBeUndefined()
  })
})

describe('the name of a person or a site', () => {
  test.each([
    '',
    ' ',
    '\u00a0\u3000',
    '\u200b',
    '\u2060\ufeff',
    '\u3164',
    '\u2800',
    '\u115f\u1160',
    '\u034f',
  ])('A369: cannot be %j, which shows nothing to people', (name) => {
    expect(isVisible(name)).toBe(false)
    for (const schema of [personName, siteName]) expect(schema.safeParse(name).success).toBe(false)
  })

  test.each(['A', ' 李 ', 'محمد', '\u200bA', '😀', '-'])('A369: control: %j has something to see', (name) => {
    for (const schema of [personName, siteName]) expect(schema.safeParse(name).success).toBe(true)
  })
})
