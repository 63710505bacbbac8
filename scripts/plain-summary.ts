import type { Reporter, TestModule } from 'vitest/node'

/** Ends a test run with one plain line, `N passed, N failed`, for readers of the end of a log. */
export class PlainSummary implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly unknown[]): void {
    const count = { passed: 0, failed: unhandledErrors.length, skipped: 0, pending: 0 }
    for (const module of modules) {
      for (const test of module.children.allTests()) count[test.result().state]++
      // A file that could not be loaded, or a group whose hooks failed, has no failed test to show
      // for it.
      for (const group of [module, ...module.children.allSuites()])
        if (group.errors().length > 0) count.failed++
    }
    const skipped = count.skipped + count.pending
    console.log(`${count.passed} passed, ${count.failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`)
  }
}
