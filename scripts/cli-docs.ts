import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { cliDocText } from './cli-doc-text.ts'

/** Writes docs/cli.md from the help of the command. A test fails when the two differ. */
writeFileSync(join(import.meta.dirname, '../docs/cli.md'), await cliDocText())
