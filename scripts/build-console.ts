import { buildConsole } from '../packages/service/src/development/build-console.ts'

/** Builds the console unless it is up to date, so that its size can be checked. */
if (!(await buildConsole())) {
  console.error('The console could not be built: npx vite build packages/console')
  process.exit(1)
}
