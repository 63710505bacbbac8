import { resolve } from 'node:path'
import { environmentText } from '../add/environment.ts'
import { type Given, UsageError, type Verb } from '../command.ts'
import { connectSite, readDevFile } from '../service/connection.ts'
import { type Terminal, visible } from '../terminal/output.ts'

const PERMISSIONS = ['feed:read', 'tokens:introspect'] as const

export const add: Verb = {
  words: [['[framework]', 'express, fastify, hono or next; default: the one that package.json lists']],
  options: [
    ['--project <directory>', 'the project to change; default: this directory'],
    ['--path <path>', 'the path of the route; default: /protected'],
    ['--scope <scope>', 'the scope that the route needs; default: orders:read'],
    ['--public-origin <url>', 'the address that callers use, behind a proxy or with Next'],
    ['--tarballs <directory>', 'take the packages from files made by npm pack, not from the registry'],
    ['--install', 'also install the dependencies'],
    ['--no-check', 'do not check that the project builds'],
    ['--force', 'overwrite the files of an earlier run'],
    ['--dry-run', 'show what would be written, and change nothing'],
  ],
  shares: ['site', 'service'],
  examples: [
    ['countersign add', 'protect a route of the application in this directory'],
    ['countersign add next --dry-run', 'show the files for Next, and write nothing'],
    ['countersign add express --project ../shop --install', 'the same for another directory, and install'],
  ],
  about: [
    'Writes a guard, a route behind it and an environment file, adds @countersign/sdk to package.json and the environment file to .gitignore, and checks that the project builds. Your own files stay as they are: it says which lines mount the route.',
    'For the guard it creates an API key of the site that may only read the feed and introspect tokens. The key is written to the environment file and never printed. Without a service to call, the file is written without a key.',
    'The exit code is 3 if the project does not build with the new files.',
  ],
  async run(given, at) {
    const { readProject, frameworks } = await import('../add/project.ts')
    const framework = frameworks.find((name) => name === given.word(0))
    if (given.word(0) !== '' && framework === undefined)
      throw new UsageError(
        `There is no framework ${JSON.stringify(given.word(0))} here. Give one of ${frameworks.join(', ')}.`,
      )
    const project = readProject(resolve(given.text('project') ?? '.'), framework)
    const [{ planChanges, readRoute, requireWritable, writeChanges }, { describeNext, describePlan }] =
      await Promise.all([import('../add/changes.ts'), import('../add/describe.ts')])
    const route = readRoute(given.text('path') ?? '/protected', given.text('scope') ?? 'orders:read')
    const plan = planChanges(project, {
      route,
      tarballs: given.text('tarballs'),
      isForced: given.has('force'),
    })
    const { framework: found } = project
    if (given.has('dry-run')) {
      at.result({ dry_run: true, framework: found, changes: plan.changes.map(toFact) }, () =>
        describePlan('Would write', plan),
      )
      at.note('Nothing was changed.')
      return 0
    }
    requireWritable(project, plan)
    const environment = plan.needsKey ? await createEnvironment(given, at, found) : undefined
    writeChanges(project, plan, environment)
    const isInstalled = given.has('install') && (await import('../add/install.ts')).install(project, at)
    const { checkBuild } = await import('../add/check-build.ts')
    const sources = plan.changes.flatMap(({ kind, path }) => (kind === 'source' ? [path] : []))
    const check = given.has('no-check') ? undefined : checkBuild(project, sources)
    const hasKey = environment === undefined || environment.apiKey !== ''
    const next = describeNext(project, plan, { route, hasKey, isInstalled, check })
    at.result({ framework: found, changes: plan.changes.map(toFact), check: check ?? null, next }, () =>
      [describePlan('Wrote', plan), ...(check ? [checkText(check)] : []), ['Next', ...next].join('\n')].join(
        '\n\n',
      ),
    )
    return check?.result === 'failed' ? 3 : 0
  },
}

const toFact = ({ path, action, what }: { path: string; action: string; what: string }) => ({
  path,
  action,
  what,
})

function checkText({ result, command, details }: { result: string; command: string; details: string }) {
  if (result === 'passed') return `Checked with ${command}: it builds.`
  if (result === 'skipped') return `Not checked, because ${details}. Later: ${command}`
  return `${command} failed:\n${visible(details, { lines: true })}`
}

/** Creates a key that can only do what a guard needs. Without a service, the key stays empty. */
async function createEnvironment(given: Given, at: Terminal, framework: string) {
  const publicOrigin =
    given.text('public-origin') ?? (framework === 'next' ? 'http://localhost:3000' : undefined)
  const hasService =
    given.text('url') !== undefined || at.env.COUNTERSIGN_URL !== undefined || readDevFile(at) !== undefined
  if (!hasService) {
    at.note('There is no service to call, so the environment file has no API key yet.')
    return {
      url: 'http://127.0.0.1:8787',
      site: given.text('site') ?? 'demo.localhost',
      apiKey: '',
      publicOrigin,
    }
  }
  const { client, baseUrl, site_id } = await connectSite(given, at)
  const rest = { url: baseUrl, site: site_id, publicOrigin }
  // Throws for a value that the file cannot contain, before there is a key.
  environmentText('', { ...rest, apiKey: '' })
  const { api_key } = await client.createKey({
    site_id,
    permissions: [...PERMISSIONS],
    label: `guard (${framework})`,
  })
  return { ...rest, apiKey: api_key }
}
