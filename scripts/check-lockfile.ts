import { readFileSync } from 'node:fs'
import { lockfileFaults } from './lockfile.ts'

const readJson = (name: string) => JSON.parse(readFileSync(new URL(`../${name}`, import.meta.url), 'utf8'))

const lockfile = readJson('package-lock.json')
const faults = lockfileFaults(lockfile, readJson('package.json'))
for (const fault of faults) console.error(`package-lock.json: ${fault}`)
if (faults.length > 0) process.exit(1)
console.log(
  `package-lock.json: ${Object.keys(lockfile.packages).length} packages, all with integrity, all install scripts named`,
)
