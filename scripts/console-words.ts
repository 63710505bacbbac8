import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { LANGUAGES } from '../packages/console/language-pages.ts'
import { type ConsoleTexts, readConsoleTexts, toFile } from './console-texts.ts'

/**
 * Writes languages/en.json from the sources of the console. A test fails when the two differ. From
 * the other languages it removes what the console no longer says, and lists what they lack.
 */
const { words } = readConsoleTexts()
writeFileSync(join(LANGUAGES, 'en.json'), toFile(words))
for (const file of globSync('*.json', { cwd: LANGUAGES, exclude: ['en.json'] })) {
  const path = join(LANGUAGES, file)
  const all = Object.entries(JSON.parse(readFileSync(path, 'utf8')) as ConsoleTexts['words'])
  const kept = Object.fromEntries(all.filter(([key]) => key in words))
  writeFileSync(path, toFile(kept))
  for (const key of Object.keys(words))
    if (!(key in kept)) console.log(`${file} lacks ${JSON.stringify(key)}`)
}
