import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { freePort } from '../packages/service/test/store/postgres-server.ts'
import { type DevProcess, startDevProcess } from '../scripts/dev-process.ts'
import { answerPattern, guideSteps, textPattern } from './guide-steps.ts'

const root = join(import.meta.dirname, '..')
const home = mkdtempSync(join(tmpdir(), 'countersign-quickstart-'))
const fromSources = '--conditions=countersign-source'
const FIRST_ROUTE = 'examples/express/first-route.ts'
const hasCurl = spawnSync('curl', ['--version']).status === 0
if (!hasCurl)
  console.warn('\nSKIPPED: the commands of the guides are not tested here, for curl is not installed.\n')

test('the application of README.md is the example that it names', () => {
  const source = readFileSync(join(root, FIRST_ROUTE), 'utf8')
  const readme = readFileSync(join(root, 'README.md'), 'utf8')
  expect(readme).toContain(`\`\`\`js first-route\n${source}\`\`\``)
  expect(readme).toContain(`\`\`\`sh server\nnpm run example ${FIRST_ROUTE}\n\`\`\``)
})

// One service for all, without a restart: no page may spoil what the next one needs.
describe.skipIf(!hasCurl)('with one service', () => {
  let service: DevProcess
  let application: ChildProcess
  let port: number
  beforeAll(async () => {
    service = await startDevProcess({ dataDir: join(home, 'data') })
    port = await freePort()
    application = await startFirstRoute()
  })
  afterAll(async () => {
    application?.kill('SIGKILL')
    await service?.stop()
    rmSync(home, { recursive: true, force: true })
  })

  function startFirstRoute(): Promise<ChildProcess> {
    const child = spawn(process.execPath, [fromSources, FIRST_ROUTE], {
      cwd: root,
      env: { ...process.env, COUNTERSIGN_DEV: join(home, 'data/dev.json'), PORT: String(port) },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    return new Promise((resolve, reject) => {
      child.stdout.on('data', (piece) => String(piece).includes('listening on') && resolve(child))
      child.once('exit', (code) => reject(new Error(`${FIRST_ROUTE} ended with ${code}`)))
    })
  }

  /** A PATH on which `npm run -s countersign --` is the command, in a folder that is no clone. */
  function pathWithCommand(): string {
    const folder = join(home, 'bin')
    mkdirSync(folder, { recursive: true })
    const main = join(root, 'packages/cli/src/main.ts')
    writeFileSync(
      join(folder, 'npm'),
      `#!/bin/sh\nshift 4\nexec '${process.execPath}' ${fromSources} '${main}' "$@"\n`,
    )
    chmodSync(join(folder, 'npm'), 0o755)
    return [folder, dirname(process.execPath), process.env.PATH].join(delimiter)
  }

  test.each(['README.md', 'docs/guides/quickstart.md', 'README.md'])(
    'the commands of %s are answered as it says',
    (file) => {
      const here = (text: string) =>
        text
          .replaceAll('http://127.0.0.1:8787', service.dev.base_url)
          .replaceAll('127.0.0.1:3000', `127.0.0.1:${port}`)
      const steps = guideSteps(file)
      expect(steps.length).toBeGreaterThan(2)
      for (const { command, answer, isJson } of steps) {
        const env = { ...process.env, PATH: pathWithCommand(), NO_COLOR: '1' }
        const { stdout } = spawnSync('sh', ['-ec', here(command)], { cwd: home, env, encoding: 'utf8' })
        expect(answer, command).not.toBe('')
        if (isJson) expect(JSON.parse(stdout), command).toEqual(answerPattern(JSON.parse(here(answer))))
        else expect(stdout, command).toMatch(new RegExp(`^${textPattern(here(answer).trimEnd())}`))
      }
    },
  )
})
