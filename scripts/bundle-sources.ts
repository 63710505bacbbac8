import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { build, type Plugin } from 'vite'

/**
 * A bundle of the command line, of the writer thread and of what tests run as processes. From the
 * sources each start loads 350 modules or more, which takes most of the processor time of many
 * tests.
 */
const root = join(import.meta.dirname, '..')
const BUNDLES = join(root, 'node_modules/.cache/test-bundles')
const MAIN = join(root, 'packages/cli/src/main.ts')
const WRITER = join(root, 'packages/service/src/store/sqlite/writer-thread.ts')
const COMMAND_HOST = join(root, 'packages/cli/test/command-host.ts')
const FURNISHED = join(root, 'test/process/furnished-service.ts')
const GUARDS = join(root, 'test/console/guard-process.ts')
/** By their names in the bundle: `findScript` in `test/process/scripts.ts` finds them. */
const SCRIPTS = [
  ...['cutting-service', 'guard-crowd', 'guarded-app', 'hasty-service'].map((name) => `test/process/${name}`),
  ...[
    'audit-archive/archive-process',
    'log/checkpoint-process',
    'log/cut-process',
    'operations/half-way-process',
    'store/sqlite-process',
    'store/writer-host',
  ].map((name) => `packages/service/test/${name}`),
]
const toScript = (name: string) => join(root, `${name}.ts`)
const WRITER_URL = `new URL(isSource ? './writer-thread.ts' : './writer-thread.js', import.meta.url)`
const WORKER_IMPORT = `import { Worker } from 'node:worker_threads'`
const POOLED_WRITER = join(root, 'packages/service/test/store/pooled-writer.ts')
/** The first needs its modules in their order, the second finds its machine code beside itself. */
const EXTERNAL = ['@simplewebauthn/server', 'better-sqlite3']
const CONDITIONS = ['countersign-source', 'module', 'node', 'development|production']
const DAY_MS = 86_400_000

export interface SourceBundle {
  /** In place of `packages/cli/src/main.ts`. */
  readonly main: string
  /** In place of `packages/cli/test/command-host.ts`: for tests, `TEST_COMMAND_HOST`. */
  readonly commandHost: string
  /** In place of `test/process/furnished-service.ts`: for tests, `TEST_FURNISHED`. */
  readonly furnished: string
  /** In place of `test/console/guard-process.ts`: for tests, `TEST_GUARDS`. */
  readonly guards: string
  /** The folder of what tests run as processes: for tests, `TEST_SCRIPTS`. */
  readonly scripts: string
  /** Lets stores share writer threads. */
  readonly plugin: Plugin
  /** Does nothing if there is one of the same sources. */
  build(): Promise<void>
  /** After a change of the sources, while tests are watched. */
  rebuild(): Promise<void>
}

/** The bundle of the sources as they are now, which `build` makes. */
export function createSourceBundle(): SourceBundle {
  const folder = join(BUNDLES, fingerprint())
  const writer = pathToFileURL(join(folder, 'writer.mjs')).href
  const rebuild = async () => {
    // Built beside it and moved, so that no other process reads half of it.
    const fresh = `${folder}-${process.pid}`
    await buildInto(fresh, useBundledWriter(writer))
    rmSync(folder, { recursive: true, force: true })
    renameSync(fresh, folder)
  }
  return {
    main: join(folder, 'main.mjs'),
    commandHost: join(folder, 'command-host.mjs'),
    furnished: join(folder, 'furnished.mjs'),
    guards: join(folder, 'guards.mjs'),
    scripts: folder,
    plugin: usePooledWriters,
    rebuild,
    async build() {
      mkdirSync(BUNDLES, { recursive: true })
      if (existsSync(folder)) return
      for (const name of readdirSync(BUNDLES))
        if (Date.now() - statSync(join(BUNDLES, name)).mtimeMs > DAY_MS)
          rmSync(join(BUNDLES, name), { recursive: true, force: true })
      await rebuild()
    },
  }
}

/** Differs whenever a source was changed, added or removed. */
function fingerprint(): string {
  const folders = ['core', 'sdk', 'service', 'cli'].map((name) => join(root, 'packages', name, 'src'))
  const files = folders.flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name)),
  )
  const others = [COMMAND_HOST, FURNISHED, GUARDS, import.meta.filename, join(root, 'package-lock.json')]
  const times = [...files, ...SCRIPTS.map(toScript), ...others].map((file) => statSync(file).mtimeMs)
  return `${files.length}-${Math.round(Math.max(...times) * 1000)}`
}

async function buildInto(outDir: string, plugin: Plugin): Promise<void> {
  await build({
    configFile: false,
    root,
    logLevel: 'error',
    plugins: [plugin, keepPlaces],
    resolve: { conditions: CONDITIONS },
    ssr: { resolve: { conditions: CONDITIONS }, noExternal: true, external: EXTERNAL },
    build: {
      ssr: true,
      target: 'node22',
      minify: false,
      outDir,
      emptyOutDir: true,
      rolldownOptions: {
        input: {
          ...{ main: MAIN, writer: WRITER, 'command-host': COMMAND_HOST },
          ...{ furnished: FURNISHED, guards: GUARDS },
          ...Object.fromEntries(SCRIPTS.map((name) => [basename(name), toScript(name)])),
        },
        output: { format: 'esm', entryFileNames: '[name].mjs', chunkFileNames: '[name]-[hash].mjs' },
      },
    },
  })
}

const WRITER_CLIENT = /\/store\/sqlite\/writer-client\.ts$/

/** `writer`: the URL of the thread. */
function useBundledWriter(writer: string): Plugin {
  return replaceInWriterClient('use-bundled-writer', WRITER_URL, `new URL(${JSON.stringify(writer)})`)
}

/**
 * Vitest keeps transformed modules for later runs, so the text must not depend on the bundle: tests
 * would run an older writer thread.
 */
const usePooledWriters = replaceInWriterClient(
  'use-pooled-writers',
  WORKER_IMPORT,
  `import { PooledWriter as Worker } from ${JSON.stringify(POOLED_WRITER)}`,
)

function replaceInWriterClient(name: string, from: string, to: string): Plugin {
  return {
    name,
    enforce: 'pre',
    transform: {
      filter: { id: WRITER_CLIENT },
      handler(code, id) {
        if (!code.includes(from)) throw new Error(`${id} starts its thread in another way`)
        return code.replace(from, () => to)
      },
    },
  }
}

/** Modules find their files beside their sources. */
const keepPlaces: Plugin = {
  name: 'keep-places',
  enforce: 'pre',
  transform: {
    filter: { id: /\/packages\/\w+\/src\/.*\.ts$/, code: /import\.meta\./ },
    handler: (code, id) =>
      code
        .replaceAll('import.meta.url', JSON.stringify(pathToFileURL(id).href))
        .replaceAll('import.meta.dirname', JSON.stringify(dirname(id)))
        .replaceAll('import.meta.filename', JSON.stringify(id)),
  },
}
