import { readFileSync } from 'node:fs'
import { lockfileFaults } from './lockfile.ts'

const readJson = (name: string) => JSON.parse(readFileSync(new URL(`../${name}`, import.meta.url), 'utf8'))

for (const folder of ['', 'tools/', 'bench/']) {
  const lockfile = readJson(`${folder}package-lock.json`)
  const faults = lockfileFaults(lockfile, readJson(`${folder}package.json`))
  for (const fault of faults) console.error(`${folder}package-lock.json: ${fault}`)
  if (faults.length > 0) process.exitCode = 1
  else
    console.log(
      `${folder}package-lock.json: ${Object.keys(lockfile.packages).length} packages, all with integrity, all install scripts named`,
    )
}
