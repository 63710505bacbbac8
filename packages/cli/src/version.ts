import { readFileSync } from 'node:fs'

/** Of this package; all packages have the same. */
export const VERSION: string = JSON.parse(
  readFileSync(new URL('../package.json', import.meta.url), 'utf8'),
).version
