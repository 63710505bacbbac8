/** A new project as its framework creates it, for `countersign add`. */
export interface NewProject {
  readonly name: string
  /** Creates it in an empty directory. */
  readonly commands: readonly string[]
  readonly files?: Readonly<Record<string, string>>
  /** Changes to its package.json. */
  readonly packageFile?: Readonly<Record<string, unknown>>
  /** Builds it after the route was mounted. `add` builds projects of Next itself. */
  readonly build?: string
  readonly start: string
  /** What it prints once it listens. Its port follows. */
  readonly words: string
}

const LISTENING = 'listening on port'
const TYPES = 'typescript@5.9.3 @types/node@24'
/** Its other template downloads fonts during the build. */
const NEXT_ANSWERS =
  '--empty --app --no-eslint --no-tailwind --import-alias @/* --use-npm --skip-install --yes'

const express = (imports: string) => `${imports}

const app = express()

const server = app.listen(0, '127.0.0.1', () => console.log('${LISTENING}', server.address().port))
`
const fastify = (imports: string, name = 'fastify') => `${imports}

const app = ${name}()

app.get('/', async () => 'hello')
app.listen({ host: '127.0.0.1', port: 0 }).then((address) => console.log('${LISTENING}', new URL(address).port))
`
const hono = `import { serve } from '@hono/node-server'
import { Hono } from 'hono'

const app = new Hono()

serve({ fetch: app.fetch, hostname: '127.0.0.1', port: 0 }, ({ port }) => console.log('${LISTENING}', port))
`

const tsconfig = (more: object = {}) =>
  JSON.stringify({
    compilerOptions: {
      rootDir: './src',
      outDir: './dist',
      module: 'nodenext',
      target: 'esnext',
      types: ['node'],
      strict: true,
      noUncheckedIndexedAccess: true,
      exactOptionalPropertyTypes: true,
      skipLibCheck: true,
      ...more,
    },
  })
const typescript = { 'tsconfig.json': tsconfig({ verbatimModuleSyntax: true, isolatedModules: true }) }
const module = { type: 'module' }

/** JavaScript and TypeScript, with imports and with `require`, for every framework of `add`. */
export const newProjects: readonly NewProject[] = [
  {
    name: 'express-require',
    commands: ['npm init -y', 'npm install express'],
    files: { 'index.js': express("const express = require('express')") },
    start: 'node index.js',
    words: LISTENING,
  },
  {
    name: 'express-import',
    commands: ['npm init -y', 'npm install express'],
    packageFile: module,
    files: { 'server.js': express("import express from 'express'") },
    start: 'node server.js',
    words: LISTENING,
  },
  {
    name: 'express-typescript',
    commands: ['npm init -y', 'npm install express', `npm install -D ${TYPES} @types/express@5`],
    packageFile: module,
    files: {
      ...typescript,
      'src/index.ts': express("import express from 'express'").replace(
        'server.address()',
        "(server.address() as import('node:net').AddressInfo)",
      ),
    },
    build: 'npx tsc',
    start: 'node dist/index.js',
    words: LISTENING,
  },
  {
    name: 'fastify-typescript-require',
    commands: ['npm init -y', 'npm install fastify', `npm install -D ${TYPES}`],
    packageFile: { type: 'commonjs' },
    files: { 'tsconfig.json': tsconfig(), 'src/app.ts': fastify("import fastify from 'fastify'") },
    build: 'npx tsc',
    start: 'node dist/app.js',
    words: LISTENING,
  },
  {
    name: 'fastify-require',
    commands: ['npm init -y', 'npm install fastify'],
    files: { 'app.js': fastify("const fastify = require('fastify')") },
    start: 'node app.js',
    words: LISTENING,
  },
  {
    name: 'fastify-import',
    commands: ['npm init -y', 'npm install fastify'],
    packageFile: module,
    files: { 'src/main.js': fastify("import Fastify from 'fastify'", 'Fastify') },
    start: 'node src/main.js',
    words: LISTENING,
  },
  {
    name: 'hono-import',
    commands: ['npm init -y', 'npm install hono @hono/node-server'],
    packageFile: module,
    files: { 'index.js': hono },
    start: 'node index.js',
    words: LISTENING,
  },
  {
    name: 'hono-require',
    commands: ['npm init -y', 'npm install hono @hono/node-server'],
    files: {
      'index.js': hono.replaceAll(/^import (.*) from ('.*')$/gm, 'const $1 = require($2)'),
    },
    start: 'node index.js',
    words: LISTENING,
  },
  {
    name: 'hono-typescript',
    commands: ['npm init -y', 'npm install hono @hono/node-server', `npm install -D ${TYPES}`],
    packageFile: module,
    files: { ...typescript, 'src/index.ts': hono },
    build: 'npx tsc',
    start: 'node dist/index.js',
    words: LISTENING,
  },
  {
    name: 'next-typescript',
    commands: [`npx --yes create-next-app@16.4.3 . --ts --src-dir ${NEXT_ANSWERS}`],
    start: 'npx next start -H 127.0.0.1 -p 0',
    words: 'Ready in',
  },
  {
    name: 'next-javascript',
    commands: [`npx --yes create-next-app@16.4.3 . --js --no-src-dir ${NEXT_ANSWERS}`],
    start: 'npx next start -H 127.0.0.1 -p 0',
    words: 'Ready in',
  },
]
