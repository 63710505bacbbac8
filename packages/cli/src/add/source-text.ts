import { posix } from 'node:path'
import type { Framework, Project } from './project.ts'

export interface RouteChoice {
  /** Such as `/protected`. */
  readonly path: string
  readonly scope: string
}

/** A file to write: its path in the project, its text, and what it is for. */
export interface SourceFile {
  readonly path: string
  readonly text: string
  readonly what: string
}

/** The files of the guard and the route, as they fit into the project. */
export function createSources(project: Project, envFile: string, route: RouteChoice): readonly SourceFile[] {
  const { framework, isTypeScript, isEsm, sourceFolder } = project
  const end = isTypeScript ? 'ts' : 'js'
  const guardPath = posix.join(sourceFolder, 'countersign', `guard.${end}`)
  const routePath =
    framework === 'next'
      ? posix.join(sourceFolder, 'app', route.path, `route.${end}`)
      : posix.join(sourceFolder, 'countersign', `routes.${end}`)
  const guardImport = importPath(routePath, guardPath, project)
  const finish = (text: string) => (isEsm ? text : toCommonJs(text))
  return [
    {
      path: guardPath,
      text: finish(
        framework === 'next' ? lazyGuard(isTypeScript, envFile) : guardText(isTypeScript, envFile),
      ),
      what: 'the guard, which follows revocations',
    },
    {
      path: routePath,
      text: finish(routeTexts[framework](guardImport, route, isTypeScript)),
      what: `GET ${route.path}, which needs ${route.scope}`,
    },
  ]
}

/** How one file of the project imports another. */
export function importPath(
  from: string,
  to: string,
  { importExtension }: Pick<Project, 'importExtension'>,
): string {
  const path = posix.relative(posix.dirname(from), to).replace(/\.[jt]s$/, importExtension)
  return path.startsWith('.') ? path : `./${path}`
}

const optionsText = `{
  baseUrl: readVariable('COUNTERSIGN_URL'),
  siteId: readVariable('COUNTERSIGN_SITE'),
  apiKey: readVariable('COUNTERSIGN_API_KEY'),
  ...(publicOrigin ? { publicOrigin } : {}),
}`

const readVariableText = (isTypeScript: boolean, envFile: string) =>
  `function readVariable(name${isTypeScript ? ': string' : ''}) {
  const value = process.env[name]
  if (!value) throw new Error(\`\${name} is not set; countersign add writes it to ${envFile}\`)
  return value
}
`

function guardText(isTypeScript: boolean, envFile: string): string {
  return `import { existsSync } from 'node:fs'
import { createGuard } from '@countersign/sdk'

// Variables that are set already have priority over the file.
if (existsSync('${envFile}')) process.loadEnvFile('${envFile}')

// The address that callers use. Needed behind a proxy that changes the Host header.
const publicOrigin = process.env.COUNTERSIGN_PUBLIC_ORIGIN

/** Follows the revocations of the site, and decides without a call to the service. */
export const guard = createGuard(${optionsText})

${readVariableText(isTypeScript, envFile)}`
}

function lazyGuard(isTypeScript: boolean, envFile: string): string {
  return `import { createGuard${isTypeScript ? ', type Guard' : ''} } from '@countersign/sdk'

// Next bundles routes separately; they share one guard through globalThis.
const shared = globalThis${isTypeScript ? ' as typeof globalThis & { countersignGuard?: Guard }' : ''}

/** The guard is created with the first request, so that \`next build\` needs no secrets. */
export function getGuard()${isTypeScript ? ': Guard' : ''} {
  const publicOrigin = process.env.COUNTERSIGN_PUBLIC_ORIGIN
  shared.countersignGuard ??= createGuard(${optionsText.replaceAll('\n', '\n  ')})
  return shared.countersignGuard
}

${readVariableText(isTypeScript, envFile)}`
}

type RouteText = (guardImport: string, route: RouteChoice, isTypeScript: boolean) => string

const routeTexts: Readonly<Record<Framework, RouteText>> = {
  express: (
    guardImport,
    { path, scope },
    isTypeScript,
  ) => `import { getCredential, requireCredential } from '@countersign/sdk/express'
import { Router } from 'express'
import { guard } from '${guardImport}'

/** Mount it before body parsers: app.use(protectedRoutes) */
export const protectedRoutes${isTypeScript ? ': Router' : ''} = Router()

protectedRoutes.get('${path}', requireCredential(guard, { scope: '${scope}' }), (request, response) => {
  response.json({ caller: getCredential(request).subject.ppid })
})
`,
  fastify: (
    guardImport,
    { path, scope },
    isTypeScript,
  ) => `import { getCredential, requireCredential } from '@countersign/sdk/fastify'
${isTypeScript ? "import type { FastifyInstance } from 'fastify'\n" : ''}import { guard } from '${guardImport}'

/** Mount it: app.register(protectedRoutes) */
export async function protectedRoutes(app${isTypeScript ? ': FastifyInstance' : ''}) {
  app.get('${path}', { preParsing: requireCredential(guard, { scope: '${scope}' }) }, async (request) => {
    return { caller: getCredential(request).subject.ppid }
  })
}
`,
  hono: (guardImport, { path, scope }) => `import { requireCredential } from '@countersign/sdk/hono'
import { Hono } from 'hono'
import { guard } from '${guardImport}'

/** Mount it: app.route('/', protectedRoutes) */
export const protectedRoutes = new Hono().get('${path}', requireCredential(guard, { scope: '${scope}' }), (c) =>
  c.json({ caller: c.get('credential').subject.ppid }),
)
`,
  next: (guardImport, { scope }, isTypeScript) => `import { requireCredential } from '@countersign/sdk/fetch'
import { connection } from 'next/server'
import { getGuard } from '${guardImport}'

export async function GET(request${isTypeScript ? ': Request' : ''}) {
  // Waits for a request: Next can call this function while it builds, without secrets.
  await connection()
  const answer = requireCredential(getGuard(), { scope: '${scope}' }, (_request, credential) =>
    Response.json({ caller: credential.subject.ppid }),
  )
  return answer(request)
}
`,
}

/** The imports and exports of the texts above in the form of CommonJS. */
function toCommonJs(text: string): string {
  const names = [...text.matchAll(/^export (?:const|(?:async )?function) (\w+)/gm)].map(([, name]) => name)
  const body = text
    .replaceAll(/^import \{ (.*) \} from ('.*')$/gm, 'const { $1 } = require($2)')
    .replaceAll(/^export /gm, '')
  return `${body}\nmodule.exports = { ${names.join(', ')} }\n`
}
