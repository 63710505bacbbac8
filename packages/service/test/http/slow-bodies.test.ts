import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { rateLimits } from '@countersign/core/contract'
import { afterEach, describe, expect, test } from 'vitest'
import { Problem } from '../../src/problem.ts'
import type { Routes } from '../../src/routes/all.ts'
import { type AppDouble, createAppDouble } from './app-double.ts'

const worked = { count: 0 }
const fail = async () => {
  worked.count++
  throw new Problem('issuer_untrusted')
}
const routes = { protected_action: fail, exchange_proof: fail } satisfies Routes as Routes

let double: AppDouble
let port: number
const sockets: Socket[] = []
async function open(limits: Partial<Record<keyof typeof rateLimits, number>>): Promise<void> {
  worked.count = 0
  const low = Object.fromEntries(
    Object.entries(limits).map(([name, requests]) => [name, { ...rateLimits.keyless, requests }]),
  )
  double = createAppDouble({ routes, config: { rateLimits: { ...rateLimits, ...low } } })
  port = (await double.app.listen()).port
}
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy()
  await double.app.close()
})

const ACT = ['POST /api/protected/action HTTP/1.1', 'X-Service-Credential: abc']
const EXCHANGE = ['POST /api/auth/exchange-proof HTTP/1.1']

/**
 * A request whose headers the server has read. `finish` sends the body and resolves to the status.
 */
async function begun(
  head: readonly string[],
): Promise<{ finish(chunks: readonly string[]): Promise<number> }> {
  const socket = connect(port, '127.0.0.1').on('error', () => {})
  sockets.push(socket)
  const asked = once(double.app.server, 'request')
  const lines = [
    ...head,
    'Host: id.example',
    'Content-Type: application/json',
    'Transfer-Encoding: chunked',
    '',
    '',
  ]
  socket.write(lines.join('\r\n'))
  await asked
  return {
    async finish(chunks) {
      socket.write([...chunks, ''].map((chunk) => `${chunk.length.toString(16)}\r\n${chunk}\r\n`).join(''))
      const [data] = (await once(socket, 'data')) as [Buffer]
      return Number(data.toString('latin1').split(' ')[1])
    },
  }
}

/** How often the same request is answered before the next one is limited. */
async function countUntilLimited(head: readonly string[], chunks: readonly string[]): Promise<number> {
  for (let count = 0; ; count++) if ((await (await begun(head)).finish(chunks)) === 429) return count
}

describe('bodies that are held back', () => {
  test('do not bring more failed presentations through than the limit allows', async () => {
    await open({ failed_presentation: 3 })
    const held = []
    while (held.length < 6) held.push(await begun(ACT))
    const statuses = []
    for (const { finish } of held) statuses.push(await finish(['{}']))
    expect([statuses, worked.count]).toEqual([[401, 401, 401, 429, 429, 429], 3])
  })
  test('control: are accepted one after the other below the limit, however late they arrive', async () => {
    await open({ failed_presentation: 3 })
    const held = [await begun(ACT), await begun(ACT)]
    double.now.ms += 29_000
    for (const { finish } of held) expect(await finish(['{}'])).toBe(401)
  })
  test('count when they are rejected, not when they began', async () => {
    await open({ keyless: 12 })
    const held = await begun(EXCHANGE)
    double.now.ms += 29_000
    // Three more than one, for 16 KiB.
    expect(await held.finish([`{"credential":{}${' '.repeat(16_000)}}`])).toBe(401)
    expect(await countUntilLimited(EXCHANGE, ['{"credential":{}}'])).toBe(12 - 3)
  })
})

describe('a rejected body in many pieces', () => {
  const letters = (length: number) => [...'{"credential":{}}'.padEnd(length)]

  test.each([
    [127, 12],
    [128, 6],
    [16_384, 1],
  ])('counts once more for every 128 of them: one of %i is allowed %i times', async (length, times) => {
    await open({ keyless: 12 })
    expect(await countUntilLimited(EXCHANGE, letters(length))).toBe(times)
  })
  test('counts too when it is cut at its limit', async () => {
    await open({ keyless: 12 })
    const sent = [...letters(1000), ' '.repeat(16_384)]
    expect(await (await begun(EXCHANGE)).finish(sent)).toBe(413)
    expect(await (await begun(EXCHANGE)).finish(letters(17))).toBe(429)
  })
})
