import { buildConsole } from '../packages/service/src/development/build-console.ts'

/** Runs before the first test of a project that serves the console. */
export async function setup(): Promise<void> {
  if (!(await buildConsole())) throw new Error('the console cannot be built: npx vite build packages/console')
}
