import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { attackPageText } from './attack-page.ts'

/** Writes docs/attacks.md from the names of the tests. A test fails when the two differ. */
writeFileSync(join(import.meta.dirname, '../docs/attacks.md'), attackPageText())
