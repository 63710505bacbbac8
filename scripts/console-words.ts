import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { LANGUAGES } from '../packages/console/language-pages.ts'
import { readConsoleTexts, toFile } from './console-texts.ts'

/** Writes languages/en.json from the sources of the console. A test fails when the two differ. */
writeFileSync(join(LANGUAGES, 'en.json'), toFile(readConsoleTexts().words))
