import { expect, test } from 'vitest'
import type { Demo } from '../../src/development/demo.ts'
import { formatSummary, type StartCommands } from '../../src/development/summary.ts'

const fromClone: StartCommands = { start: 'npm start --', countersign: 'npm run -s countersign --' }
const fromPackages: StartCommands = {
  start: 'npx @countersign/cli dev',
  countersign: 'npx @countersign/cli',
}
const demo = {
  dev: {
    base_url: 'http://127.0.0.1:8787',
    admin_url: 'http://127.0.0.1:8788',
    site_id: 'demo.localhost',
    user_ref: 'demo-user',
  },
  found: false,
  renewed: ['the holder-bound credential had ended or was revoked, and is a new one'],
  visitor: 'visitor',
} as unknown as Demo

const summary = (commands: StartCommands, dataDir = 'data', demoVerifiers = 0) =>
  formatSummary({
    demo,
    dataDir,
    consoleLink: `http://localhost:8787/console#link=${'x'.repeat(43)}`,
    demoVerifiers: Array.from({ length: demoVerifiers }, () => ({
      verifierId: 'demo-payments',
      url: 'http://127.0.0.1:45087/orders',
      close: async () => undefined,
    })),
    commands,
  })

test.each([
  [fromClone, 0],
  [fromClone, 2],
  [fromPackages, 0],
] as const)('no line of the start is wider than a terminal', (commands, demoVerifiers) => {
  const lines = summary(commands, 'data', demoVerifiers).split('\n')
  expect(lines.filter((line) => line.length > 80)).toEqual([])
})

test('names the commands of the installation that was started', () => {
  const packed = summary(fromPackages)
  expect(packed).toContain('Another link: npx @countersign/cli console\n')
  expect(packed).toContain(': npx @countersign/cli dev --with-demo-app\n')
  expect(packed).not.toMatch(/npm (?:run|start)/)
  expect(summary(fromClone, '/tmp/it is')).toContain(
    ": COUNTERSIGN_DATA_DIR='/tmp/it is' npm run -s countersign -- console\n",
  )
})
