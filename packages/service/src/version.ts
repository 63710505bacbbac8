import { readFileSync } from 'node:fs'

/** The released version, from package.json beside `src` and `dist`. */
export const SERVICE_VERSION: string = (
  JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { version: string }
).version
