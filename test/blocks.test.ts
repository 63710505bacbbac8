import { globSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { describe, expect, test } from 'vitest'

const root = join(import.meta.dirname, '..')
const read = (file: string) => readFileSync(join(root, file), 'utf8')

interface Block {
  readonly file: string
  /** What stands behind the opening fence: a language, and a name or why it is not run. */
  readonly kind: string
  readonly body: string
}

const documents = ['README.md', ...globSync('docs/{*,guides/*}.md', { cwd: root })]
  .map((file) => file.replaceAll('\\', '/'))
  .sort()
const blocks: readonly Block[] = documents.flatMap((file) =>
  [...read(file).matchAll(/^```((?:sh|bash|js|ts|javascript|typescript|mjs)\b[^\n]*)\n(.*?)^```$/gms)].map(
    ([, kind = '', body = '']) => ({
      file,
      kind,
      body,
    }),
  ),
)

/**
 * Which test runs which blocks; `one` when it takes the first of that kind and would miss a second.
 */
const runs: readonly {
  readonly file: string
  readonly kinds: readonly string[]
  readonly by: string
  readonly picks: 'all' | 'one'
}[] = [
  { file: 'README.md', kinds: ['sh two-commands'], by: 'test/terminal.test.ts', picks: 'one' },
  { file: 'README.md', kinds: ['sh'], by: 'test/quickstart.test.ts', picks: 'all' },
  {
    file: 'README.md',
    kinds: ['js first-route', 'sh server'],
    by: 'test/quickstart.test.ts',
    picks: 'one',
  },
  { file: 'docs/guides/quickstart.md', kinds: ['sh'], by: 'test/quickstart.test.ts', picks: 'all' },
  { file: 'docs/guides/core.md', kinds: ['js'], by: 'test/readme.test.ts', picks: 'one' },
  { file: 'docs/guides/agents.md', kinds: ['js'], by: 'test/guides.test.ts', picks: 'all' },
  {
    file: 'docs/guides/bring-your-own-tokens.md',
    kinds: ['js', 'js testing'],
    by: 'test/guides.test.ts',
    picks: 'all',
  },
  {
    file: 'docs/guides/bring-your-own-tokens.md',
    kinds: ['sh'],
    by: 'test/switches.test.ts',
    picks: 'all',
  },
  { file: 'docs/guides/personal-data.md', kinds: ['sh'], by: 'test/switches.test.ts', picks: 'all' },
  { file: 'docs/guides/signals.md', kinds: ['js'], by: 'test/guides.test.ts', picks: 'all' },
  { file: 'docs/guides/mcp-servers.md', kinds: ['js'], by: 'test/guides.test.ts', picks: 'all' },
  {
    file: 'docs/guides/protect-a-route.md',
    kinds: ['js', 'js testing'],
    by: 'test/guides.test.ts',
    picks: 'all',
  },
  {
    file: 'docs/guides/frameworks.md',
    kinds: [
      'js express',
      'js fastify',
      'js hono',
      'js fetch',
      'js mcp',
      'js plain',
      'js upgrade',
      'js stream',
      'js ended',
    ],
    by: 'test/guides.test.ts',
    picks: 'one',
  },
  { file: 'docs/guides/sign-in.md', kinds: ['sh'], by: 'test/sign-in-guide.test.ts', picks: 'all' },
  { file: 'docs/guides/sign-in.md', kinds: ['js'], by: 'test/sign-in-guide.test.ts', picks: 'one' },
  { file: 'docs/guides/webhooks.md', kinds: ['sh'], by: 'test/webhooks-guide.test.ts', picks: 'all' },
  { file: 'docs/guides/webhooks.md', kinds: ['js'], by: 'test/webhooks-guide.test.ts', picks: 'one' },
  { file: 'docs/guides/monitoring.md', kinds: ['sh metrics'], by: 'test/monitoring.test.ts', picks: 'one' },
  { file: 'docs/guides/on-call.md', kinds: ['sh'], by: 'test/on-call-guide.test.ts', picks: 'all' },
  { file: 'docs/guides/console.md', kinds: ['sh start'], by: 'test/console/start.test.ts', picks: 'one' },
  { file: 'docs/operating.md', kinds: ['sh'], by: 'test/operating-commands.test.ts', picks: 'all' },
]

/**
 * What is not run, by its first words. The reason stands in the fence, for readers of the document
 * too.
 */
const notRun: Readonly<Record<string, readonly string[]>> = {
  'docs/guides/webhooks.md': ['WEBHOOK_SECRETS=$(node -p'],
  'docs/guides/frameworks.md': [
    'export function getGuard',
    'const resource = protectedResource(',
    'createGuard({ baseUrl',
  ],
  'docs/guides/protect-a-route.md': ['countersign add --dry-run'],
  'docs/guides/deployment.md': ['# systemd: as any user'],
  'docs/guides/growth.md': [
    'npm run bench -- --only growth',
    'node --conditions=countersign-source bench/growth',
  ],
  'docs/guides/revocation.md': ['countersign receipts --state waiting', 'countersign drill'],
  'docs/guides/trust-and-keys.md': ['createGuard({'],
  'docs/operating.md': [
    'createuser --pwprompt',
    'pg_dump --format',
    'countersign backup /backups/before-the-move.db',
    'countersign audit --target',
    'export COUNTERSIGN_CONSOLE_OIDC',
  ],
}

/** Not run as they stand there, but word for word elsewhere. */
const sameAs: Readonly<Record<string, string>> = {
  'docs/guides/quickstart.md sh start': 'README.md sh two-commands',
}

/** Lines of blocks of which the others are run, one by one. */
const linesNotRun = ['npm ci && npm run build', 'alias countersign=']

const findRule = ({ file, kind }: Block) =>
  runs.find((rule) => rule.file === file && rule.kinds.includes(kind))
const isMarked = ({ kind }: Block) => /^\w+ not-run: \S.{10,}$/.test(kind)

describe('every program and command of the documents', () => {
  test.each(
    blocks.map(
      (block) => [`${block.file}, ${block.kind}: ${block.body.split('\n')[0]?.slice(0, 60)}`, block] as const,
    ),
  )('is run or says why not: %s', (_, block) => {
    const same = sameAs[`${block.file} ${block.kind}`]
    if (same !== undefined) {
      const other = blocks.find(({ file, kind }) => `${file} ${kind}` === same)
      return expect(other?.body.startsWith(block.body.trimEnd())).toBe(true)
    }
    if (isMarked(block))
      return expect(notRun[block.file]?.some((begin) => block.body.startsWith(begin))).toBe(true)
    const rule = findRule(block)
    expect(
      rule,
      'no test runs this block: run it, or mark it as not-run with a reason and list it here',
    ).toBeDefined()
    if (rule?.picks === 'one')
      expect(blocks.filter(({ file, kind }) => file === block.file && kind === block.kind)).toHaveLength(1)
  })

  test('that is listed here is there', () => {
    for (const { file, kinds } of runs)
      for (const kind of kinds)
        expect(
          blocks.filter((block) => block.file === file && block.kind === kind).length,
          `${file} ${kind}`,
        ).toBeGreaterThan(0)
    const marked = blocks.filter(isMarked)
    expect(marked).toHaveLength(Object.values(notRun).flat().length)
  })

  test('is run by a test that names its document', () => {
    for (const { file, by } of runs) expect(read(by), `${by} runs ${file}`).toContain(basename(file))
  })

  test('of operating.md is run line by line', () => {
    const source = read('test/operating-commands.test.ts')
    const lines = blocks
      .filter((block) => block.file === 'docs/operating.md' && !isMarked(block))
      .flatMap(({ body }) => body.trim().split('\n'))
    const [, listed = ''] = /for \(const begin of \[([^\]]*)\]\)/.exec(source) ?? []
    const begins = [...source.matchAll(/findLine\((['"])(.+?)\1\)/g), ...listed.matchAll(/(')(.+?)'/g)].map(
      ([, , text = '']) => text,
    )
    expect(begins.length).toBeGreaterThan(6)
    const missed = lines.filter(
      (line) => ![...begins, ...linesNotRun].some((begin) => line.startsWith(begin)),
    )
    expect(missed).toEqual([])
  })
})
