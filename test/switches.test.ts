import { execFile } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type DevProcess, startDevProcess } from '../scripts/dev-process.ts'
import { guideSteps } from './guide-steps.ts'

const root = join(import.meta.dirname, '..')
const directory = mkdtempSync(join(tmpdir(), 'countersign-switches-'))
const MAIN = process.env.TEST_MAIN ?? join(root, 'packages/cli/src/main.ts')
const COUNTERSIGN = `'${process.execPath}' --conditions=countersign-source --no-warnings '${MAIN}'`

/** The commands in the text and in the tables of the guides, once each. */
const commands = new Set(
  ['revocation.md', 'bring-your-own-tokens.md', 'mcp-servers.md'].flatMap((guide) =>
    [...readFileSync(join(root, 'docs/guides', guide), 'utf8').matchAll(/`countersign ([^`…<]+)`/g)].map(
      ([, command = '']) => command,
    ),
  ),
)
/** These have no preview: they are covered by the tests of the command line. */
const elsewhere =
  /^(?:accept-rollback|reinstate|users|verify|inspect|audit|watch|log|verifiers|summary|receipts|drill|preview)\b/

let service: DevProcess
beforeAll(async () => {
  service = await startDevProcess({ dataDir: join(directory, 'data') })
  const { bound } = JSON.parse(readFileSync(join(directory, 'data/dev.json'), 'utf8'))
  writeFileSync(join(directory, 'bot.jwk'), JSON.stringify(bound.holder_private_jwk), { mode: 0o600 })
  writeFileSync(join(directory, 'leaked.txt'), `svc_at_${'a'.repeat(49)}`)
  writeFileSync(join(directory, 'targets.txt'), 'alice\n')
})
afterAll(async () => {
  await service?.stop()
  rmSync(directory, { recursive: true, force: true })
})

test.each([...commands].filter((command) => !elsewhere.test(command)))(
  'countersign %s is a command, and its preview changes nothing',
  async (command) => {
    const words = command.replaceAll('shop.example', service.dev.site_id).split(' ')
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ['--conditions=countersign-source', '--no-warnings', MAIN, ...words, '--dry-run', '--json'],
      { cwd: directory },
    )
    expect(JSON.parse(stdout)).toMatchObject({ dry_run: true })
  },
)

const [register = '', keycloak = '', ...more] = guideSteps('docs/guides/bring-your-own-tokens.md').map(
  ({ command }) => command,
)

test.each([register, keycloak])('an issuer is registered by %s', async (command) => {
  const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  // No provider can be reached here, so its key set is sent.
  const keySet = { keys: [{ ...publicKey.export({ format: 'jwk' }), kid: 'key-1' }] }
  writeFileSync(join(directory, 'jwks.json'), JSON.stringify(keySet))
  const script = `${command.trimEnd()} --jwks jwks.json --json`.replace('countersign', COUNTERSIGN)
  const { stdout } = await promisify(execFile)('sh', ['-ec', script], { cwd: directory })
  expect(JSON.parse(stdout)).toMatchObject({ type: 'oauth', status: 'trusted', key_source: 'jwks' })
  expect(more).toEqual([])
})

test.each(guideSteps('docs/guides/personal-data.md').flatMap(({ command }) => command.trim().split('\n')))(
  'the data of a user are erased by %s',
  async (command) => {
    const script = `${command} --json`.replace('countersign', COUNTERSIGN)
    const { stdout } = await promisify(execFile)('sh', ['-ec', script], { cwd: directory })
    expect(JSON.parse(stdout)).toMatchObject({ dry_run: command.endsWith('--dry-run') })
  },
)

test('the guides name a command for every switch', () => {
  for (const begin of [
    'revoke-token',
    'revoke cred_',
    'revoke --issuer',
    'sign-out-user',
    'revoke-user',
    'revoke-holder',
    'cut-off issuer',
    'cut-off site',
    'issuers change ',
    'issuers change-key',
    'sites change',
  ])
    expect(
      [...commands].some((command) => command.startsWith(begin)),
      begin,
    ).toBe(true)
})
