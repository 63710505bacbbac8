import { randomBytes } from 'node:crypto'
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { readMasterKey } from '../../src/keys/master-key.ts'

const key = randomBytes(32)
let dataDir: string

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'countersign-'))
})
afterEach(() => rmSync(dataDir, { recursive: true, force: true }))

const sources = (more: Partial<Parameters<typeof readMasterKey>[0]> = {}) => ({
  text: undefined,
  file: undefined,
  dataDir,
  mode: 'production' as const,
  ...more,
})

function keyFile(text: string, mode = 0o600): string {
  const file = join(dataDir, 'given.key')
  writeFileSync(file, text)
  chmodSync(file, mode)
  return file
}

describe('readMasterKey', () => {
  it.each([
    ['hex', key.toString('hex')],
    ['hex in capitals', key.toString('hex').toUpperCase()],
    ['base64url', key.toString('base64url')],
    ['base64', key.toString('base64')],
    ['hex with a newline', `${key.toString('hex')}\n`],
  ])('takes 32 bytes in %s', (_name, text) => {
    expect(Buffer.from(readMasterKey(sources({ text })))).toEqual(key)
    expect(Buffer.from(readMasterKey(sources({ file: keyFile(text) })))).toEqual(key)
  })

  it.each([
    '',
    'secret',
    key.toString('hex').slice(1),
    `${key.toString('hex')}00`,
    key.toString('base64url').slice(1),
    '0'.repeat(64),
    'A'.repeat(43),
  ])('refuses %j, and does not repeat it', (text) => {
    expect(() => readMasterKey(sources({ text }))).toThrow(TypeError)
    try {
      readMasterKey(sources({ text }))
    } catch (error) {
      if (text.length > 10) expect(String(error)).not.toContain(text)
    }
  })

  it('refuses to choose between two', () => {
    expect(() =>
      readMasterKey(sources({ text: key.toString('hex'), file: keyFile(key.toString('hex')) })),
    ).toThrow('both set')
  })

  it.each([0o604, 0o644, 0o666, 0o660, 0o602, 0o620, 0o610])('refuses a file with mode %o', (mode) => {
    expect(() => readMasterKey(sources({ file: keyFile(key.toString('hex'), mode) }))).toThrow('chmod 600')
  })

  it.each([0o600, 0o400, 0o440, 0o640])('takes a file with mode %o', (mode) => {
    expect(Buffer.from(readMasterKey(sources({ file: keyFile(key.toString('hex'), mode) })))).toEqual(key)
  })

  it('looks at the file behind a link', () => {
    const link = join(dataDir, 'link')
    symlinkSync(keyFile(key.toString('hex'), 0o644), link)
    expect(() => readMasterKey(sources({ file: link }))).toThrow('chmod 600')
  })

  it('refuses a named file that is not there, also in development', () => {
    expect(() => readMasterKey(sources({ file: join(dataDir, 'nothing'), mode: 'development' }))).toThrow()
    expect(readdirSync(dataDir)).toEqual([])
  })

  it('makes none in production', () => {
    expect(() => readMasterKey(sources())).toThrow('COUNTERSIGN_MASTER_KEY')
    expect(readdirSync(dataDir)).toEqual([])
  })

  it('makes one in development that no other user can read, and finds it again', () => {
    const dir = join(dataDir, 'data')
    const made = readMasterKey(sources({ mode: 'development', dataDir: dir }))
    expect(made).toHaveLength(32)
    expect(readdirSync(dir)).toEqual(['master.key'])
    expect(statSync(join(dir, 'master.key')).mode & 0o777).toBe(0o600)
    expect(readMasterKey(sources({ mode: 'development', dataDir: dir }))).toEqual(made)
    expect(readMasterKey(sources({ mode: 'production', dataDir: dir }))).toEqual(made)
  })

  it('does not make a new one over one that cannot be used', () => {
    const file = join(dataDir, 'master.key')
    writeFileSync(file, 'damaged', { mode: 0o600 })
    expect(() => readMasterKey(sources({ mode: 'development' }))).toThrow(TypeError)
    expect(readFileSync(file, 'utf8')).toBe('damaged')
    expect(existsSync(file)).toBe(true)
  })
})
