import { basename, relative } from 'node:path'
import type { Reporter, TestCase, TestModule, Vitest } from 'vitest/node'

/** The tag of tests that `npm test` leaves out. */
export const LONG = 'long'
const SLOWEST = 10
const LISTED_MAX = 15
const WORDS_MAX = 150

/**
 * Ends a test run with plain lines for readers of the end of a log: the slowest files, the tests
 * that passed only at the second try, one line for each failure, how many long tests were left out,
 * and `N passed, N failed`.
 */
export class PlainSummary implements Reporter {
  #leavesOut = false

  onInit({ config }: Vitest): void {
    this.#leavesOut = config.tagsFilter !== undefined
  }

  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly Thrown[]): void {
    const count = { passed: 0, failed: unhandledErrors.length, skipped: 0, pending: 0 }
    let left = 0
    const flaky: string[] = []
    const failed: string[] = unhandledErrors.map((error) => describe('outside of a test', [error]))
    for (const module of modules) {
      const file = toFile(module)
      for (const test of module.children.allTests()) {
        const { state, errors = [] } = test.result()
        count[state]++
        if (state === 'skipped' && test.tags.includes(LONG)) left++
        if (state === 'failed') failed.push(describe(`${file}: ${test.fullName}`, errors))
        else if (test.diagnostic()?.flaky) flaky.push(describe(`${file}: ${test.fullName}`, errors))
      }
      // A file that could not be loaded, or a group whose hooks failed, has no failed test to show
      // for it.
      for (const group of [module, ...module.children.allSuites()])
        if (group.errors().length > 0) {
          count.failed++
          failed.push(describe(file, group.errors()))
        }
    }
    if (modules.length > SLOWEST) printSlowest(modules)
    printSome('flaky', flaky)
    printSome('failed', failed)
    if (this.#leavesOut) console.log(`left out: ${left} long tests; npm run test-all runs them`)
    const skipped = count.skipped + count.pending
    console.log(`${count.passed} passed, ${count.failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`)
  }
}

function printSlowest(modules: readonly TestModule[]): void {
  const seconds = (module: TestModule) => {
    const { collectDuration, setupDuration, duration } = module.diagnostic()
    return (collectDuration + setupDuration + duration) / 1000
  }
  const slowest = modules.map((module) => ({ module, s: seconds(module) })).sort((a, b) => b.s - a.s)
  const lines = slowest
    .slice(0, SLOWEST)
    .map(({ module, s }) => `${s.toFixed(0)} s ${toFile(module)} (${countTests(module)} tests)`)
  console.log(`slowest: ${lines.join('\n         ')}`)
}

function countTests(module: TestModule): number {
  return Array.from<TestCase>(module.children.allTests()).length
}

/** With the project, because some files run in two of them. */
function toFile({ moduleId, project }: TestModule): string {
  return `${project.name} ${relative(project.config.root, moduleId)}`
}

interface Thrown {
  readonly message?: string
  readonly stacks?: readonly { readonly file: string; readonly line: number }[]
}

/** One line: what it is, the first line of its first error, and where that was thrown. */
function describe(what: string, errors: readonly Thrown[]): string {
  const { message = '', stacks: [at] = [] } = errors[0] ?? {}
  const [line = ''] = message.split('\n')
  const place = at === undefined ? '' : ` (${basename(at.file)}:${at.line})`
  return `${what}: ${line.length > WORDS_MAX ? `${line.slice(0, WORDS_MAX)}…` : line}${place}`
}

function printSome(word: string, lines: readonly string[]): void {
  for (const line of lines.slice(0, LISTED_MAX)) console.log(`${word}: ${line}`)
  if (lines.length > LISTED_MAX) console.log(`${word}: and ${lines.length - LISTED_MAX} more`)
}
