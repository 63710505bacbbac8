import { once } from 'node:events'
import { createServer } from 'node:net'
import { describe, expect, test } from 'vitest'
import { describeListenFault } from '../../src/operations/describe-listen-fault.ts'

const hosts = { host: '127.0.0.1', adminHost: '127.0.0.2' }

/** What Node reports when a server cannot listen. */
async function listenFault(host: string, port: number): Promise<Error> {
  const server = createServer()
  const fault = once(server, 'error')
  server.listen({ host, port })
  const [found] = await fault
  return found
}

const made = (code: string, more: object = {}) =>
  Object.assign(new Error(`listen ${code}`), { code, syscall: 'listen', ...more })

describe('describeListenFault', () => {
  test('names an address that this machine does not have, and the setting', async () => {
    const fault = await listenFault('203.0.113.9', 0)
    expect(describeListenFault(fault, { ...hosts, host: '203.0.113.9' })).toBe(
      'This machine does not have the address 203.0.113.9. Correct host.',
    )
    expect(describeListenFault(fault, { ...hosts, adminHost: '203.0.113.9' })).toBe(
      'This machine does not have the address 203.0.113.9. Correct admin_host.',
    )
    expect(describeListenFault(fault, { host: '203.0.113.9', adminHost: '203.0.113.9' })).toBe(
      'This machine does not have the address 203.0.113.9. Correct host and admin_host.',
    )
  })
  test('names a host without an address', async () => {
    const fault = await listenFault('nowhere.invalid', 0)
    expect(describeListenFault(fault, { ...hosts, host: 'nowhere.invalid' })).toBe(
      'The host name nowhere.invalid has no address here. Correct host.',
    )
  })
  test('names a port that is taken', async () => {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as { readonly port: number }
    const fault = await listenFault('127.0.0.1', port)
    server.close()
    expect(describeListenFault(fault, hosts)).toBe(
      `port ${port} is taken; choose another (--port, --admin-port), or stop the process that has it`,
    )
  })
  // Root may use every port, so the fault is made here.
  test('names a port that this user may not use', () => {
    expect(describeListenFault(made('EACCES', { address: '127.0.0.1', port: 81 }), hosts)).toBe(
      'This user may not use port 81. Choose a port from 1024 on (--port, --admin-port).',
    )
    expect(describeListenFault(made('EACCES', { address: '127.0.0.1', port: 1024 }), hosts)).toBe(
      'This user may not use port 1024. Choose another one (--port, --admin-port).',
    )
  })
  test('leaves other faults to their message', () => {
    expect(describeListenFault(made('EACCES', { path: '/data' }), hosts)).toBeUndefined()
    expect(describeListenFault(new Error('sealed under another master key'), hosts)).toBeUndefined()
    expect(describeListenFault('text', hosts)).toBeUndefined()
  })
})
