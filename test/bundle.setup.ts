import type { TestProject } from 'vitest/node'
import { createSourceBundle } from '../scripts/bundle-sources.ts'

/** Runs before the first test of a project that opens stores or starts the command line. */
export async function setup(project: TestProject): Promise<void> {
  const bundle = createSourceBundle()
  await bundle.build()
  project.onTestsRerun(bundle.rebuild)
}
