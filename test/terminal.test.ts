import { spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { freePort } from '../packages/service/test/store/postgres-server.ts'
import { answerPattern, guideSteps, textPattern } from './guide-steps.ts'
import { isClone, makeFreshClone } from './terminal/fresh-clone.ts'
import { findTerminal, type Terminal } from './terminal/terminals.ts'

const root = join(import.meta.dirname, '..')
const readme = readFileSync(join(root, 'README.md'), 'utf8')
const terminal = findTerminal()
const hasCurl = spawnSync('curl', ['--version']).status === 0
const canWalk = terminal !== undefined && isClone && hasCurl
if (!canWalk) {
  const why =
    terminal === undefined
      ? 'neither tmux nor script is installed'
      : isClone
        ? 'curl is not installed'
        : 'this is no clone'
  console.error(`\n*** SKIPPED: the README is not walked at a terminal, for ${why}. ***\n`)
}

/** Kept for a person who wants to see what a newcomer sees; git does not look at it. */
const TRANSCRIPTS = join(root, 'test/transcripts')
const PROMPT = 'newcomer$ '
const READY = 'Stop with Ctrl-C.'

const directory = mkdtempSync(join(tmpdir(), 'countersign-terminal-'))
const opened: Terminal[] = []
afterAll(() => {
  for (const one of opened) one.close()
  rmSync(directory, { recursive: true, force: true })
})

/**
 * The `npm` of this machine, but for `npm ci`: the packages are there already, and there may be no
 * network.
 */
function npmWithoutNetwork(): string {
  const folder = join(directory, 'bin')
  const path = [
    ...(process.env.PATH ?? '').split(delimiter).filter((one) => !one.includes('node_modules')),
    dirname(process.execPath),
  ].join(delimiter)
  mkdirSync(folder)
  const script = `#!/bin/sh\n[ "$1" = ci ] && { echo 'npm ci: the packages are here already'; exit; }\nPATH='${path}' exec npm "$@"\n`
  writeFileSync(join(folder, 'npm'), script)
  chmodSync(join(folder, 'npm'), 0o755)
  return [folder, path].join(delimiter)
}

describe.skipIf(!canWalk)(`at a terminal (${terminal?.name})`, () => {
  test('a newcomer gets from a fresh clone through the README and the quickstart to the examples', {
    tags: 'long',
  }, async () => {
    const home = join(directory, 'home')
    const cwd = join(directory, 'countersign')
    mkdirSync(home)
    makeFreshClone(cwd)
    const port = await freePort()
    const env = {
      PATH: npmWithoutNetwork(),
      HOME: home,
      PS1: PROMPT,
      PORT: String(port),
      TERM: 'xterm',
      LANG: 'C.UTF-8',
      NO_COLOR: '1',
    }
    const open = () => {
      const one = terminal?.open({ cwd, env }) as Terminal
      opened.push(one)
      return one
    }
    const shows = (one: Terminal, what: string) =>
      expect.poll(() => one.text(), { interval: 100 }).toContain(what)
    const isBack = (one: Terminal) =>
      expect.poll(() => one.text().trimEnd(), { interval: 100 }).toMatch(/newcomer\$$/)

    const first = open()
    const [start = '', ...others] = (/^```sh two-commands\n(.*?)^```$/ms.exec(readme)?.[1] ?? '')
      .trim()
      .split('\n')
    expect(start).toMatch(/^npm ci && npm start\b/)
    // The other is the one that runs this test.
    expect(others.map((line) => line.replace(/\s*#.*/, ''))).toEqual(['npm ci && npm test'])
    await isBack(first)
    first.type(start)
    await shows(first, READY)

    const port3000 = await freePort()
    const [, server = ''] = /^```sh server\n(.*?)\n```$/ms.exec(readme) ?? []
    const second = open()
    await isBack(second)
    second.type(`PORT=${port3000} ${server}`)
    await shows(second, 'listening on http')

    const third = open()
    await isBack(third)
    const here = (text: string) =>
      text
        .replaceAll('127.0.0.1:8787', `127.0.0.1:${port}`)
        .replaceAll('127.0.0.1:3000', `127.0.0.1:${port3000}`)
    const typeAll = async (command: string): Promise<string> => {
      const lines = command.trimEnd().split('\n')
      let before = 0
      for (const line of lines) {
        // As a person does: not before the shell asks for it.
        await expect.poll(() => third.text().trimEnd(), { interval: 50 }).toMatch(/(?:newcomer\$|\n>)$/)
        before = third.text().trimEnd().length
        third.type(line)
        await expect.poll(() => third.text().slice(before), { interval: 50 }).toContain(line.trim())
      }
      await expect
        .poll(() => third.text().slice(before).trimEnd(), { interval: 50 })
        .toMatch(/\n.*newcomer\$$/s)
      return third.text().slice(before)
    }
    // All in this order and without a restart, as a newcomer reads: first what the start prints.
    const pasted = [...first.text().matchAll(/^ {2}curl (?:.+\\\n)*.+$/gm)].map(([command]) => command)
    const expected = ['"allowed":true', '"success":true', '"code":"credential_revoked"']
    expect(pasted).toHaveLength(expected.length)
    for (const [i, command] of pasted.entries()) expect(await typeAll(command)).toContain(expected[i])
    const steps = ['README.md', 'docs/guides/quickstart.md'].flatMap((file) => guideSteps(file))
    for (const { command, answer, isJson } of steps) {
      const printed = await typeAll(here(command))
      const [json = ''] = /^\{.*?\}(?=newcomer|\n)/ms.exec(printed) ?? []
      if (isJson) expect(JSON.parse(json), command).toEqual(answerPattern(JSON.parse(here(answer))))
      else expect(printed, command).toMatch(new RegExp(textPattern(here(answer).trimEnd())))
    }
    // The examples still find what they need.
    const fourth = open()
    await isBack(fourth)
    const portMcp = await freePort()
    fourth.type(`PORT=${portMcp} npm run -s example examples/mcp-server/server.ts`)
    await shows(fourth, 'listening on http')
    for (const [file, words] of [
      ['delegating-agents/agents.ts', 'planner after the reader was revoked: accepted'],
      ['legacy-bearer/runtime.ts', 'request 3: 200'],
      [`mcp-client/client.ts http://127.0.0.1:${portMcp}/mcp`, 'list_orders: tea, coffee'],
    ])
      expect(await typeAll(`npm run -s example examples/${file}`)).toContain(words)

    fourth.type('^C')
    second.type('^C')
    first.type('^C')
    await isBack(first)
    mkdirSync(TRANSCRIPTS, { recursive: true })
    const kept = [first, second, third, fourth]
      .map((one, i) => `--- terminal ${i + 1} (${terminal?.name})\n${one.text().trimEnd()}\n`)
      .join('\n')
    writeFileSync(join(TRANSCRIPTS, 'readme.txt'), kept)
    expect(kept).toContain('"code":"credential_revoked"')
  })
})
