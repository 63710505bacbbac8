import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const FILE = join(import.meta.dirname, '../../packages/console/src/pages.ts')

/** The pages that the console registers, by their names in the address. */
const [ofSites = '', ofService = ''] = readFileSync(FILE, 'utf8').split('export const servicePages')
export const sitePages = findNames(ofSites)
export const servicePages = findNames(ofService)

function findNames(text: string): readonly string[] {
  return [...text.matchAll(/^ {2}'?([a-z-]+)'?: async/gm)].map(([, name]) => String(name))
}
