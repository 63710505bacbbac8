import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { TLSSocket } from 'node:tls'
import { afterAll, afterEach, describe, expect, test } from 'vitest'
import { connect } from '../../src/store/postgres/connect.ts'
import { findUnsecuredHost } from '../../src/store/postgres/tls.ts'
import { addressCertificate, databaseKey, localhostCertificate } from './database-certificates.ts'

const folder = mkdtempSync(join(tmpdir(), 'countersign-tls-'))
const write = (name: string, text: string) => {
  writeFileSync(join(folder, name), text)
  return join(folder, name)
}
const localhostFile = write('localhost.pem', localhostCertificate)
const addressFile = write('address.pem', addressCertificate)
const servers: Server[] = []
const sockets = new Set<Socket>()
afterEach(() => {
  for (const socket of sockets) socket.destroy()
  for (const server of servers.splice(0)) server.close()
})
afterAll(() => rmSync(folder, { recursive: true }))

/** A database that rejects every user, after the connection is secured. */
async function startDatabase(cert: string): Promise<number> {
  const rejection = Buffer.from('SFATAL\0C28P01\0Mno such user\0\0')
  const length = Buffer.alloc(4)
  length.writeInt32BE(rejection.length + 4)
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.once('data', () => {
      socket.write('S')
      const secured = new TLSSocket(socket, { isServer: true, key: databaseKey, cert })
      secured.on('error', () => {})
      secured.once('data', () => secured.end(Buffer.concat([Buffer.from('E'), length, rejection])))
    })
  })
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return (server.address() as AddressInfo).port
}

async function findFault(url: string): Promise<string> {
  try {
    const sql = connect({ url, max: 1 })
    try {
      await sql.unsafe('SELECT 1')
      return 'none'
    } finally {
      await sql.end({ timeout: 0 })
    }
  } catch (fault) {
    return fault instanceof Error ? `${'code' in fault ? fault.code : ''} ${fault.message}` : String(fault)
  }
}

const SECURED = '28P01 no such user'

describe('connections to PostgreSQL with TLS', () => {
  test.each([
    ['localhost', 'verify-full', localhostCertificate, localhostFile, SECURED],
    ['127.0.0.1', 'verify-full', addressCertificate, addressFile, SECURED],
    ['127.0.0.1', 'verify-full', localhostCertificate, localhostFile, 'ERR_TLS_CERT_ALTNAME_INVALID'],
    ['localhost', 'verify-full', addressCertificate, addressFile, 'ERR_TLS_CERT_ALTNAME_INVALID'],
    ['127.0.0.1', 'verify-ca', localhostCertificate, localhostFile, SECURED],
    ['127.0.0.1', 'verify-ca', addressCertificate, localhostFile, 'DEPTH_ZERO_SELF_SIGNED_CERT'],
    ['localhost', 'verify-full', localhostCertificate, undefined, 'DEPTH_ZERO_SELF_SIGNED_CERT'],
    ['127.0.0.1', 'require', localhostCertificate, undefined, SECURED],
    // With a certificate to compare with, libpq checks it too.
    ['127.0.0.1', 'require', addressCertificate, localhostFile, 'DEPTH_ZERO_SELF_SIGNED_CERT'],
  ])('at %s with sslmode=%s', async (host, mode, cert, rootFile, expected) => {
    const port = await startDatabase(cert)
    const root = rootFile === undefined ? '' : `&sslrootcert=${encodeURIComponent(rootFile)}`
    const url = `postgres://user:pw@${host}:${port}/db?sslmode=${mode}${root}`
    expect(await findFault(url)).toContain(expected)
  })

  test.each([
    ['postgres://u:p@db.example/x', 'db.example'],
    ['postgres://u:p@db.example:5433/x?sslmode=prefer', 'db.example'],
    ['postgres://u:p@localhost,10.0.0.7:5433/x', '10.0.0.7'],
    ['postgres://u:p@db.example/x?sslmode=require', undefined],
    ['postgres://u:p@db.example/x?sslmode=verify-full', undefined],
    ['postgres://u:p@127.0.0.1:5432/x', undefined],
    ['postgres://u:p@[::1]:5432/x', undefined],
    ['postgres://u:p@localhost/x', undefined],
    ['postgres://u:p@%2Frun%2Fpostgresql/x', undefined],
    ['postgres:///x', undefined],
  ])('of %s, the host without encryption is %s', (url, host) => {
    expect(findUnsecuredHost(url)).toBe(host)
  })

  test.each([
    ['sslmode=verify_full', 'sslmode must be disable, allow, prefer, require, verify-ca or verify-full'],
    [
      `sslmode=verify-full&sslrootcert=${join(folder, 'none.pem')}`,
      `sslrootcert: ${join(folder, 'none.pem')} cannot be read (ENOENT)`,
    ],
    [`sslrootcert=${localhostFile}`, 'sslrootcert needs sslmode=verify-full, verify-ca or require'],
  ])('%s is a mistake', async (query, expected) => {
    expect(await findFault(`postgres://user:pw@127.0.0.1:1/db?${query}`)).toContain(expected)
  })
})
