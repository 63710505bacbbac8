import { tmpdir } from 'node:os'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { expectAnswer, type Home, openHome } from './home.ts'

let home: Home
beforeAll(async () => {
  home = await openHome()
})
afterAll(() => home?.close())

describe('people', () => {
  test('console offers to add the first person, and signs the only one in', { tags: 'long' }, async () => {
    // The development start has added its developer.
    const { items } = (await home.run(['people', 'list', '--json'])).json()
    expect(items).toMatchObject([{ name: 'Developer' }])
    expect((await home.run(['people', 'end', items[0].person_id, '--yes'])).code).toBe(0)
    const none = await home.run(['console'])
    expect(none.code).not.toBe(0)
    expect(none.err).toContain('countersign console --name')
    const first = await home.run(['console', '--name', 'Ada', '--json'])
    expect(first.code).toBe(0)
    expectAnswer('create_console_link', first.json())
    const again = await home.run(['console'])
    expect(again).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^http:\/\/localhost:\d+\/console#link=[A-Za-z0-9_-]{43}$/m),
    })
    // The command that a start with another data directory prints.
    const env = { COUNTERSIGN_DATA_DIR: home.file('data') }
    expect((await home.run(['console'], { cwd: tmpdir() })).code).toBe(2)
    expect((await home.run(['console'], { cwd: tmpdir(), env })).code).toBe(0)
    expect((await home.run(['console', '--name', 'Eve'])).code).not.toBe(0)
  })

  test('see commands in the console that can be typed where the service was started', async () => {
    const headers = { 'sec-fetch-site': 'same-origin' }
    const answer = await fetch(`${home.dev.base_url.replace('127.0.0.1', 'localhost')}/console/doors`, {
      headers,
    })
    const body = (await answer.json()) as { command_line: string }
    expectAnswer('list_doors', body)
    expect(body.command_line).toBe(`COUNTERSIGN_DATA_DIR=${home.file('data')} npm run -s countersign --`)
  })

  test('are added with roles, listed, changed and ended', { tags: 'long' }, async () => {
    const { site_id } = (await home.run(['sites', 'list', '--json'])).json().items[0]
    const added = await home.run(['people', 'add', 'Grace', '--role', `responder@${site_id}`, '--json'])
    expect(added.code).toBe(0)
    expectAnswer('create_person', added.json())
    const { person_id } = added.json()
    expect(added.json().roles).toEqual([{ site_id, role: 'responder' }])
    const { out } = await home.run(['people', 'list'])
    expect(out).toMatch(new RegExp(`^${person_id} +Grace +active +responder@${site_id}`, 'm'))
    // With two people, one must be chosen.
    const several = await home.run(['console'])
    expect([several.code === 0, several.err]).toEqual([false, expect.stringContaining('--person')])
    expect((await home.run(['console', '--person', person_id])).code).toBe(0)
    const changed = await home.run([
      'people',
      'change',
      person_id,
      '--role',
      'operator',
      '--name',
      'G',
      '--json',
    ])
    expect(changed.json()).toMatchObject({ name: 'G', roles: [{ site_id: null, role: 'operator' }] })
    const plain = await home.run(['people', 'change', person_id, '--no-roles', '--json'])
    expect(plain.json()).toMatchObject({ name: 'G', roles: [] })
    const ended = await home.run(['people', 'end', person_id, '--reason', 'left', '--yes', '--json'])
    expect(ended.json()).toMatchObject({ status: 'ended' })
    const back = await home.run(['people', 'change', person_id, '--reactivate', '--json'])
    expect(back.json()).toMatchObject({ status: 'active' })
  })

  test('wrong roles are usage errors or rejected by the service', async () => {
    for (const role of ['viewer@a@b', '@shop.example', 'viewer@'])
      expect((await home.run(['people', 'add', 'X', '--role', role])).code).toBe(2)
    expect((await home.run(['people', 'add', 'X', '--role', 'root'])).code).not.toBe(0)
    expect((await home.run(['people', 'add', 'X', '--role', 'viewer@none.example'])).err).toContain(
      'site_unknown',
    )
    expect((await home.run(['people', 'end', 'person_none', '--yes'])).code).not.toBe(0)
  })
})
