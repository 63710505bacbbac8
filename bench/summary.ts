/** `npm run bench-summary -- a.json b.json c.json`: a table of several runs of `npm run bench`. */
import { readFile } from 'node:fs/promises'
import { type Run, summarizeRuns } from './runs.ts'

const files = process.argv.slice(2)
if (files.length === 0) {
  console.error('Name the JSON files of the runs, as npm run bench has written them.')
  process.exitCode = 2
} else {
  const runs = await Promise.all(files.map(async (file) => JSON.parse(await readFile(file, 'utf8')) as Run))
  const loads = runs.map(
    ({ machine }) => `${machine.loadAtStart.toFixed(1)} to ${machine.loadAtEnd.toFixed(1)}`,
  )
  console.log(`${summarizeRuns(runs)}\n\nLoad of the machine from start to end: ${loads.join(', ')}.`)
}
