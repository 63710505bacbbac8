import { spawnSync } from 'node:child_process'
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { readConfig } from '../packages/service/src/config.ts'

const root = join(import.meta.dirname, '..')
const scratch = mkdtempSync(join(tmpdir(), 'countersign-deploy-'))
afterAll(() => rmSync(scratch, { recursive: true, force: true }))

const read = (file: string) => readFileSync(join(root, file), 'utf8')
const isInstalled = (program: string) => spawnSync('sh', ['-c', `command -v ${program}`]).status === 0

test('every setting that a file of deploy/ names is one', () => {
  const known = new Set(
    [...read('docs/operating.md').matchAll(/`(COUNTERSIGN_[A-Z_]+)`/g)].map(([, name]) => name),
  )
  for (const file of globSync('deploy/*', { cwd: root })) {
    const named = [...read(file).matchAll(/\b(COUNTERSIGN_[A-Z_]+)\b/g)].map(([, name]) => name)
    expect(
      named.filter((name) => !known.has(name)),
      file,
    ).toEqual([])
  }
})

test('what the Dockerfile and the unit start is what a build makes', () => {
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> }
  expect(scripts).toHaveProperty('build')
  for (const file of [
    'deploy/Dockerfile',
    'deploy/countersign.service',
    'docs/operating.md',
    'docs/guides/deployment.md',
  ]) {
    const programs = [...read(file).matchAll(/packages\/\S+\/dist\/main\.js/g)].map(([program]) => program)
    expect(new Set(programs), file).toEqual(new Set(['packages/cli/dist/main.js']))
  }
  expect(existsSync(join(root, 'packages/cli/src/main.ts'))).toBe(true)
})

test('the Dockerfile and the guide install the command and every package of ours that it depends on', () => {
  const manifest = (name: string) =>
    JSON.parse(read(`packages/${name}/package.json`)) as {
      readonly dependencies?: Readonly<Record<string, string>>
    }
  const own = (name: string): readonly string[] => {
    const needed = Object.keys(manifest(name).dependencies ?? {}).filter((each) =>
      each.startsWith('@countersign/'),
    )
    return [`packages/${name}`, ...needed.flatMap((each) => own(each.replace('@countersign/', '')))]
  }
  for (const file of ['deploy/Dockerfile', 'docs/guides/deployment.md']) {
    const installed = [...read(file).matchAll(/--workspace ([\w/]+)/g)].map(([, workspace]) => workspace)
    expect(new Set(installed), file).toEqual(new Set(own('cli')))
  }
})

test('the commands of the guide have the flags that the command line has', () => {
  const [, block = ''] =
    /^```sh not-run: needs the installation.*?\n(.*?)^```$/ms.exec(read('docs/guides/deployment.md')) ?? []
  const commands = [...block.matchAll(/\bcountersign ([a-z-]+)(.*)$/gm)]
  expect(commands).toHaveLength(4)
  for (const [, name = '', rest = ''] of commands) {
    const [, help = ''] = new RegExp(`^### ${name}\\n(.*?)(?=^##)`, 'ms').exec(read('docs/cli.md')) ?? []
    expect(help).toContain(`countersign ${name}`)
    for (const [flag] of rest.matchAll(/--[a-z-]+/g)) expect(help, name).toContain(`${flag} <`)
  }
})

test.runIf(isInstalled('nginx'))('nginx can read its configuration', () => {
  const site = read('deploy/nginx.conf')
    .replace(/server node-\w+:8787/g, 'server 127.0.0.1:8787')
    .replace('listen 8080', 'listen 127.0.0.1:18080')
  const whole = `pid ${scratch}/nginx.pid;\nerror_log stderr;\nevents {}\nhttp {\n  access_log off;\n  client_body_temp_path ${scratch};\n${site}\n}\n`
  writeFileSync(join(scratch, 'nginx.conf'), whole)
  const { status, stderr } = spawnSync('nginx', ['-t', '-c', join(scratch, 'nginx.conf')], {
    encoding: 'utf8',
  })
  expect(stderr).toContain('test is successful')
  expect(status).toBe(0)
})

test.runIf(isInstalled('systemd-analyze'))('systemd can read the unit', () => {
  const unit = join(scratch, 'countersign.service')
  // What it starts need not be installed here.
  writeFileSync(
    unit,
    read('deploy/countersign.service').replace(/^ExecStart=\S+/m, `ExecStart=${process.execPath}`),
  )
  const { stderr } = spawnSync('systemd-analyze', ['verify', '--man=no', unit], { encoding: 'utf8' })
  expect(stderr.split('\n').filter((line) => line.includes('countersign.service'))).toEqual([])
})

test('the compose file and the configuration of nginx name the same nodes', () => {
  const nodes = [...read('deploy/nginx.conf').matchAll(/server (node-\w+):8787/g)].map(([, name]) => name)
  expect(nodes.length).toBe(2)
  for (const node of nodes) expect(read('deploy/compose.yaml')).toMatch(new RegExp(`^  ${node}:`, 'm'))
})

test('every secret of the compose file is made by the commands in its header, and owned by the user of the image', () => {
  const compose = read('deploy/compose.yaml')
  const [header = ''] = compose.split(/^services:/m)
  const files = [...compose.matchAll(/\{ file: \.\/(\S+) \}/g)].map(([, file]) => String(file))
  expect(files.sort()).toEqual(['database.url', 'master.key', 'postgres.password'])
  for (const file of files) expect(header).toContain(`> ${file}`)
  expect(header).toContain('chown 1000 master.key database.url')
  expect(read('deploy/Dockerfile')).toContain('USER node')
})

test('the commands in the header of the compose file make secrets that the service reads', () => {
  const header = read('deploy/compose.yaml').split(/^services:/m)[0] ?? ''
  const commands = [...header.matchAll(/^# {3}((?:umask|openssl|printf) .*)$/gm)].map(
    ([, command]) => command,
  )
  expect(commands).toHaveLength(4)
  const place = mkdtempSync(join(scratch, 'secrets-'))
  expect(spawnSync('sh', ['-ec', commands.join('\n')], { cwd: place, encoding: 'utf8' })).toMatchObject({
    status: 0,
    stderr: '',
  })
  const env = {
    COUNTERSIGN_BASE_URL: 'https://id.example',
    COUNTERSIGN_MASTER_KEY_FILE: join(place, 'master.key'),
    COUNTERSIGN_DATABASE_URL_FILE: join(place, 'database.url'),
  }
  const password = readFileSync(join(place, 'postgres.password'), 'utf8').trim()
  expect(readConfig('production', { env }).store).toEqual({
    kind: 'postgres',
    url: `postgres://countersign:${password}@postgres/countersign`,
  })
})

test('the command of the guide runs with the user, the state and the master key of the unit', () => {
  const [, command = ''] =
    /^ {3}```sh systemd\n(.*?)^ {3}```$/ms.exec(read('docs/guides/deployment.md')) ?? []
  const unit = read('deploy/countersign.service')
  const properties = [...command.matchAll(/ -p (\S+)/g)].map(([, property]) => property)
  expect(properties).toHaveLength(7)
  for (const property of properties) expect(unit.split('\n')).toContain(property)
  for (const setting of command.match(/COUNTERSIGN_[A-Z_]+=\S+/g) ?? []) {
    expect(unit).toContain(`Environment=${setting.replace('$CREDENTIALS_DIRECTORY', '%d')}`)
  }
  expect(command).toContain(`${/^ExecStart=(.*) serve$/m.exec(unit)?.[1]} create-operator-key`)
})
