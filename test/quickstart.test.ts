import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type DevProcess, startDevProcess } from '../scripts/dev-process.ts'

const root = join(import.meta.dirname, '..')
const directory = mkdtempSync(join(tmpdir(), 'countersign-quickstart-'))
const hasCurl = spawnSync('curl', ['--version']).status === 0
if (!hasCurl) console.warn('\nSKIPPED: the commands of the guides are not tested here, for curl is not installed.\n')

/** Every command that is followed by its answer, in the order of the text. */
function stepsOf(file: string): readonly { title: string; command: string; answer: string }[] {
  const text = readFileSync(join(root, file), 'utf8')
  const blocks = [...text.matchAll(/^```(\w+)( \w+)?\n(.*?)^```$/gms)].map(([, language, note, body = '']) => ({ language, note, body }))
  return blocks.flatMap(({ language, note, body }, i) => {
    const next = blocks[i + 1]
    if (language !== 'sh' || note !== undefined) return []
    return [{ title: body.split('\n').at(-2) ?? '', command: body, answer: next?.language === 'json' ? next.body : '' }]
  })
}

/** `…` stands for anything, and so does the age of what a decision rests on. */
function pattern(value: unknown, key = ''): unknown {
  if (key === 'age_ms') return expect.any(Number)
  if (typeof value === 'string' && value.includes('…')) {
    return expect.stringMatching(new RegExp(`^${value.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&').replaceAll('…', '.+')}$`))
  }
  if (Array.isArray(value)) return value.map((item) => pattern(item))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, pattern(member, name)]))
}

describe.skipIf(!hasCurl).each(['docs/guides/quickstart.md', 'README.md'])('the commands of %s', (file) => {
  let service: DevProcess
  const home = join(directory, file.replaceAll('/', '-'))
  beforeAll(async () => {
    service = await startDevProcess({ dataDir: join(home, 'data') })
  }, 60_000)
  afterAll(async () => {
    await service?.stop()
    rmSync(directory, { recursive: true, force: true })
  })
  // In their order, since each rests on the ones before.
  test('are answered as it says', () => {
    const steps = stepsOf(file)
    expect(steps.length).toBeGreaterThan(2)
    for (const { command, answer } of steps) {
      const here = (text: string) => text.replaceAll('http://127.0.0.1:8787', service.dev.base_url)
      const env = { ...process.env, PATH: [dirname(process.execPath), process.env.PATH].join(delimiter) }
      const printed = execFileSync('sh', ['-ec', here(command)], { cwd: home, env, encoding: 'utf8' })
      expect(answer, command).not.toBe('')
      expect(JSON.parse(printed), command).toEqual(pattern(JSON.parse(here(answer))))
    }
  })
})
