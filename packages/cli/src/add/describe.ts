import { OWN_COMMANDS, type OwnCommands } from '../terminal/own-commands.ts'
import type { Plan } from './changes.ts'
import type { BuildCheck } from './check-build.ts'
import { chooseEnvFile } from './environment.ts'
import { type Framework, findEntry, type Project } from './project.ts'
import { importPath, type RouteChoice } from './source-text.ts'

const WORDS = { create: '', overwrite: ' (overwritten)', change: ' (changed)', keep: ' (as it was)' }

/** One line for each file. */
export function describePlan(title: string, { changes }: Plan): string {
  const width = Math.max(...changes.map(({ path }) => path.length))
  return [
    title,
    ...changes.map(({ path, action, what }) => `  ${path.padEnd(width)}  ${what}${WORDS[action]}`),
  ].join('\n')
}

export interface Outcome {
  readonly route: RouteChoice
  readonly hasKey: boolean
  readonly isInstalled: boolean
  readonly check: BuildCheck | undefined
}

const mountLines: Readonly<Record<Exclude<Framework, 'next'>, (app: string) => string>> = {
  express: (app) => `${app}.use(protectedRoutes)`,
  fastify: (app) => `${app}.register(protectedRoutes)`,
  hono: (app) => `${app}.route('/', protectedRoutes)`,
}

/** What the person does next, in order. */
export function describeNext(
  project: Project,
  plan: Plan,
  outcome: Outcome,
  { countersign, isClone }: OwnCommands = OWN_COMMANDS,
): readonly string[] {
  const { packageManager, framework } = project
  const { route, hasKey, isInstalled, check } = outcome
  const isListed = plan.changes.some(({ kind }) => kind === 'package') && !isInstalled
  const url = `http://localhost:3000${route.path}`
  const present = `${countersign} present ${url}`
  const steps = [
    ...(isListed ? [`${packageManager} install`] : []),
    ...(check?.result === 'skipped' && isListed ? [check.command] : []),
    ...(hasKey
      ? []
      : [
          `write the key of this command to ${chooseEnvFile(framework)}:\n       ${countersign} keys create --label guard \\\n         --permissions feed:read,tokens:introspect`,
        ]),
    ...(framework === 'next' ? [] : [mountStep(project, plan)]),
    [
      isClone
        ? 'start your application, then in the clone send requests to its port:'
        : 'start your application, and send requests to the port that it listens on:',
      `${`curl -i ${url}`.padEnd(present.length)}  # 401`,
      `${present}  # 200`,
    ].join('\n       '),
  ]
  return steps.map((step, i) => `  ${i + 1}. ${step}`)
}

function mountStep(project: Project, { changes }: Plan): string {
  const entry = findEntry(project)
  const routes = changes.find(({ path }) => /routes\.[jt]s$/.test(path))?.path ?? ''
  const from = importPath(entry?.path ?? `${project.sourceFolder || '.'}/index`, routes, project)
  const lines = [
    project.isEsm
      ? `import { protectedRoutes } from '${from}'`
      : `const { protectedRoutes } = require('${from}')`,
    mountLines[project.framework as Exclude<Framework, 'next'>](entry?.app ?? 'app'),
  ]
  return [`mount the route in ${entry?.path ?? 'the file that creates your application'}:`, ...lines].join(
    '\n       ',
  )
}
