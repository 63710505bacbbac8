import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type NewProject, newProjects } from './projects.ts'
import type { Workshop } from './workshop.ts'

/**
 * Adds a guard to each new project with the packed packages, mounts the route as `add` says, and
 * sends requests: without a credential, with one, and after its revocation. `home` is the directory
 * of a development service. `only` is a part of their names.
 */
export async function walkProjects(
  workshop: Workshop,
  bin: string,
  { packages, home, only = '' }: { packages: string; home: string; only?: string | undefined },
): Promise<void> {
  for (const project of newProjects.filter(({ name }) => name.includes(only))) {
    const directory = join(workshop.directory, 'projects', project.name)
    createProject(workshop, bin, directory, project)
    const added = workshop.run(
      home,
      bin,
      `npx countersign add --project ${directory} --tarballs ${packages} --install`,
    )
    if (!/^Checked with .*: it builds\.$/m.test(added)) throw new Error(added)
    if (project.name.startsWith('next')) requireBuilt(added)
    else mount(directory, added)
    if (project.build !== undefined) workshop.run(directory, bin, project.build)
    const { text, stop } = await workshop.start(directory, bin, project.start, project.words)
    const [, port] = /(?:127\.0\.0\.1:|listening on port )(\d+)/.exec(text) ?? []
    try {
      await expectProtected(workshop, bin, home, project.name, `http://127.0.0.1:${port}/protected`)
    } finally {
      stop()
    }
  }
}

function createProject(
  workshop: Workshop,
  bin: string,
  directory: string,
  { commands, files = {}, packageFile = {} }: NewProject,
): void {
  mkdirSync(directory, { recursive: true })
  for (const line of commands) workshop.run(directory, bin, line)
  const file = join(directory, 'package.json')
  writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file, 'utf8')), ...packageFile }, null, 2))
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(directory, path)), { recursive: true })
    writeFileSync(join(directory, path), text)
  }
}

function requireBuilt(added: string): void {
  if (!added.includes('Checked with npx next build')) throw new Error(added)
}

/** Puts the two printed lines into the printed file: one on top, one after the application. */
function mount(directory: string, added: string): void {
  const [, path = '', importLine = '', mountLine = ''] =
    /mount the route in (\S+):\n\s+(.+)\n\s+(.+)\n/.exec(added) ?? []
  const file = join(directory, path)
  const [app] = mountLine.split('.')
  const text = readFileSync(file, 'utf8')
  const created = new RegExp(`^const ${app} = .*\\n`, 'm')
  if (importLine === '' || !created.test(text)) throw new Error(`cannot mount the route: ${added}`)
  writeFileSync(file, `${importLine}\n${text.replace(created, (line) => `${line}${mountLine}\n`)}`)
}

async function expectProtected(
  workshop: Workshop,
  bin: string,
  home: string,
  user: string,
  url: string,
): Promise<void> {
  const credential = join(home, `${user}.json`)
  const { stdout } = workshop.attempt(
    home,
    bin,
    `npx countersign issue --user-ref ${user} --scope orders:read`,
  )
  writeFileSync(credential, stdout, { mode: 0o600 })
  const present = () =>
    workshop.attempt(home, bin, `npx countersign present ${url} --credential ${credential}`)
  const { status } = await fetch(url)
  const accepted = present()
  workshop.run(home, bin, `npx countersign revoke-user ${user} --wait 30 --yes`)
  const rejected = present()
  const seen = [status, accepted.code, rejected.code, /"code":"(\w+)"/.exec(rejected.stdout)?.[1]]
  // 3: the credential was rejected.
  if (`${seen}` !== '401,0,3,credential_revoked' || !accepted.stdout.startsWith('{"caller":"did:service:'))
    throw new Error(`${user} answered ${seen}: ${accepted.stdout}${accepted.stderr}${rejected.stderr}`)
  console.log(`${user}: 401 without a credential, 200 with one, 401 after the revocation`)
}
