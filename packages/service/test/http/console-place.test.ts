import { describe, expect, test } from 'vitest'
import {
  findPageOrigin,
  findSessionSecret,
  requireConsolePage,
  toConsolePlace,
  toEndedCookie,
  toSessionCookie,
} from '../../src/http/console-place.ts'

const lines = (headers: Readonly<Record<string, readonly string[]>>) => ({
  lines: (name: string) => headers[name],
})

describe('the cookie of the console', () => {
  test('A216: has the prefix and Secure with https, and the port in its name on loopback', () => {
    expect(toSessionCookie('s', toConsolePlace('https://id.example'))).toBe(
      '__Host-countersign-console=s; Path=/; Max-Age=43200; HttpOnly; SameSite=Strict; Secure',
    )
    expect(toSessionCookie('s', toConsolePlace('http://127.0.0.1:8787'))).toBe(
      'countersign-console-8787=s; Path=/; Max-Age=43200; HttpOnly; SameSite=Strict',
    )
    expect(toConsolePlace('http://localhost').cookieName).toBe('countersign-console-80')
    expect(toEndedCookie(toConsolePlace('http://localhost:1'))).toMatch(
      /^countersign-console-1=; .*Max-Age=0/,
    )
  })

  test('is found among others, in one line or several, and only once', () => {
    const place = toConsolePlace('http://127.0.0.1:8787')
    const find = (...cookie: string[]) => findSessionSecret(lines({ cookie }), place)
    expect(find('a=b; countersign-console-8787=s; c=d')).toBe('s')
    expect(find('a=b', 'countersign-console-8787=s')).toBe('s')
    expect(find('countersign-console-8787=s', 'countersign-console-8787=t')).toBeUndefined()
    expect(find('countersign-console-8788=s; xcountersign-console-8787=t')).toBeUndefined()
    expect(findSessionSecret(lines({}), place)).toBeUndefined()
  })
})

describe('a page of the console', () => {
  const place = toConsolePlace('https://id.example')
  const check = (headers: Readonly<Record<string, readonly string[]>>) => {
    try {
      requireConsolePage(lines(headers), place)
      return 'accepted'
    } catch (error) {
      return (error as { code: string }).code
    }
  }
  const same = { 'sec-fetch-site': ['same-origin'] }

  test('is recognised by Sec-Fetch-Site, or by Origin where a browser does not send it', () => {
    expect(check(same)).toBe('accepted')
    expect(check({ origin: ['https://id.example'] })).toBe('accepted')
    // The admin listener, or a tunnel to it: the browser has reached this very address.
    expect(check({ ...same, origin: ['http://localhost:9000'], host: ['localhost:9000'] })).toBe('accepted')
  })

  test('A213, A218: is nothing else', () => {
    expect(check({})).toBe('csrf_invalid')
    for (const site of ['cross-site', 'same-site', 'none', 'Same-Origin', ''])
      expect(check({ 'sec-fetch-site': [site], origin: ['https://id.example'] })).toBe('csrf_invalid')
    expect(check({ 'sec-fetch-site': ['same-origin', 'cross-site'] })).toBe('csrf_invalid')
    for (const origin of [
      'null',
      '',
      'https://evil.example',
      'http://id.example',
      'https://id.example:8443',
      'https://id.example.evil.example',
      'https://id.example/',
      'https://user@id.example',
    ])
      expect([origin, check({ ...same, origin: [origin], host: ['api.example'] })]).toEqual([
        origin,
        'origin_forbidden',
      ])
    expect(check({ ...same, origin: ['https://id.example', 'https://id.example'] })).toBe('origin_forbidden')
    expect(check({ origin: ['http://id.example/x'], host: ['id.example'] })).toBe('origin_forbidden')
  })
})

describe('an origin of its own', () => {
  const check = (origin: string, host: string, place: ReturnType<typeof toConsolePlace>) => {
    try {
      requireConsolePage(lines({ 'sec-fetch-site': ['same-origin'], origin: [origin], host: [host] }), place)
      return 'accepted'
    } catch (error) {
      return (error as { code: string }).code
    }
  }

  test('A218: a page that came over http is none of an https console, whatever Host says', () => {
    const place = toConsolePlace('https://id.example')
    expect(check('http://id.example', 'id.example', place)).toBe('origin_forbidden')
    expect(check('http://alias.example', 'alias.example', place)).toBe('origin_forbidden')
    expect(check('https://alias.example', 'alias.example', place)).toBe('accepted')
    expect(check('http://localhost:8788', 'localhost:8788', place)).toBe('accepted')
  })

  test('A218: with console_url, its pages have that origin and no other', () => {
    const place = toConsolePlace('https://console.example', true)
    expect(check('https://console.example', 'console.example', place)).toBe('accepted')
    for (const host of ['alias.example', 'localhost:8788'])
      expect(check(`https://${host}`, host, place)).toBe('origin_forbidden')
    expect(check('http://console.example', 'console.example', place)).toBe('origin_forbidden')
  })

  test('is the one that the browser has opened, on this machine', () => {
    const find = (host: string, place: ReturnType<typeof toConsolePlace>) =>
      findPageOrigin(lines({ host: [host] }), place)
    const here = toConsolePlace('http://127.0.0.1:8787')
    expect(find('localhost:8787', here)).toBe('http://localhost:8787')
    expect(find('evil.example:8787', here)).toBe('http://127.0.0.1:8787')
    expect(find('a b', here)).toBe('http://127.0.0.1:8787')
    expect(find('localhost', toConsolePlace('https://id.example'))).toBe('https://id.example')
    expect(find('localhost:1', toConsolePlace('http://127.0.0.1:1', true))).toBe('http://127.0.0.1:1')
  })
})
