import { createSocket, type Socket } from 'node:dgram'
import type { LookupAddress, lookup } from 'node:dns'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { createNameResolver } from '../../src/net/resolve-name.ts'

const A = 1
const AAAA = 28
const servers: Socket[] = []
afterEach(async () => {
  for (const server of servers.splice(0)) await new Promise<void>((done) => server.close(done))
})

/**
 * A name server that has one answer for each type of question, whatever the name. Undefined: it
 * keeps silent.
 */
async function openNameServer(answers: Readonly<Record<number, readonly Buffer[] | undefined>>) {
  let asked = 0
  const server = createSocket('udp4')
  servers.push(server)
  server.on('message', (question, { port, address }) => {
    asked++
    const end = question.indexOf(0, 12) + 5
    const type = question.readUInt16BE(end - 4)
    const found = answers[type]
    if (found === undefined) return
    // RFC 1035 §4.1: the header with its counts, the question again, and each answer pointing to
    // the name in it.
    const head = Buffer.from(question.subarray(0, 12))
    head.writeUInt16BE(0x8180, 2)
    head.writeUInt16BE(found.length, 6)
    head.writeUInt32BE(0, 8)
    const records = found.map((data) => {
      const fixed = Buffer.alloc(12)
      fixed.writeUInt16BE(0xc00c, 0)
      fixed.writeUInt16BE(type, 2)
      fixed.writeUInt16BE(1, 4)
      fixed.writeUInt16BE(data.length, 10)
      return Buffer.concat([fixed, data])
    })
    server.send(Buffer.concat([head, question.subarray(12, end), ...records]), port, address)
  })
  await new Promise<void>((done) => server.bind(0, '127.0.0.1', done))
  return { name: `127.0.0.1:${(server.address() as AddressInfo).port}`, asked: () => asked }
}

function ask(resolve: typeof lookup, name: string): Promise<LookupAddress[]> {
  return new Promise((done, fail) =>
    resolve(name, { all: true }, (fault, found) => (fault === null ? done(found) : fail(fault))),
  )
}

const v4 = Buffer.from([93, 184, 216, 34])
const v6 = Buffer.from('26064700000000000000000000001111', 'hex')

describe('createNameResolver', () => {
  it('gives all addresses of a name, of both kinds', async () => {
    const { name } = await openNameServer({ [A]: [v4, Buffer.from([10, 0, 0, 1])], [AAAA]: [v6] })
    expect(await ask(createNameResolver({ servers: [name] }), 'hooks.example')).toEqual([
      { address: '93.184.216.34', family: 4 },
      { address: '10.0.0.1', family: 4 },
      { address: '2606:4700::1111', family: 6 },
    ])
  })

  it('is content with one kind', async () => {
    const { name } = await openNameServer({ [A]: [v4], [AAAA]: [] })
    expect(await ask(createNameResolver({ servers: [name] }), 'hooks.example')).toEqual([
      { address: '93.184.216.34', family: 4 },
    ])
    const other = await openNameServer({ [A]: [], [AAAA]: [v6] })
    expect(await ask(createNameResolver({ servers: [other.name] }), 'hooks.example')).toEqual([
      { address: '2606:4700::1111', family: 6 },
    ])
  })

  it('fails for a name without addresses, one that is none, and a server that keeps silent', async () => {
    const { name } = await openNameServer({ [A]: [], [AAAA]: [] })
    await expect(ask(createNameResolver({ servers: [name] }), 'hooks.example')).rejects.toThrow()
    for (const bad of ['a..b', `${'x'.repeat(64)}.example`])
      await expect(ask(createNameResolver({ servers: [name] }), bad)).rejects.toThrow()
    const silent = await openNameServer({})
    await expect(
      ask(createNameResolver({ servers: [silent.name], timeoutMs: 50, tries: 1 }), 'hooks.example'),
    ).rejects.toThrow()
    await expect.poll(() => silent.asked()).toBeGreaterThan(0)
  })

  it('knows the names of this machine without asking', async () => {
    const { name, asked } = await openNameServer({ [A]: [v4], [AAAA]: [v6] })
    for (const here of ['localhost', 'x.localhost']) {
      expect(await ask(createNameResolver({ servers: [name] }), here)).toEqual([
        { address: '127.0.0.1', family: 4 },
        { address: '::1', family: 6 },
      ])
    }
    expect(asked()).toBe(0)
  })
})
