import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type DevProcess, startDevProcess } from '../scripts/dev-process.ts'
import { answerPattern, guideSteps } from './guide-steps.ts'

const directory = mkdtempSync(join(tmpdir(), 'countersign-quickstart-'))
const hasCurl = spawnSync('curl', ['--version']).status === 0
if (!hasCurl)
  console.warn('\nSKIPPED: the commands of the guides are not tested here, for curl is not installed.\n')

describe.skipIf(!hasCurl).each(['docs/guides/quickstart.md', 'README.md'])('the commands of %s', (file) => {
  let service: DevProcess
  const home = join(directory, file.replaceAll('/', '-'))
  beforeAll(async () => {
    service = await startDevProcess({ dataDir: join(home, 'data') })
  })
  afterAll(async () => {
    await service?.stop()
    rmSync(directory, { recursive: true, force: true })
  })
  // In their order, since each rests on the ones before.
  test('are answered as it says', () => {
    const steps = guideSteps(file)
    expect(steps.length).toBeGreaterThan(2)
    for (const { command, answer } of steps) {
      const here = (text: string) => text.replaceAll('http://127.0.0.1:8787', service.dev.base_url)
      const env = { ...process.env, PATH: [dirname(process.execPath), process.env.PATH].join(delimiter) }
      const printed = execFileSync('sh', ['-ec', here(command)], { cwd: home, env, encoding: 'utf8' })
      expect(answer, command).not.toBe('')
      expect(JSON.parse(printed), command).toEqual(answerPattern(JSON.parse(here(answer))))
    }
  })
})
