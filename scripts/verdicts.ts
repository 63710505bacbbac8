/**
 * `npm run verdicts [-- --claims 100000] [--revocations 200000] [--store sqlite|postgres]`
 *
 * Compares the verdicts about random credentials and tokens before and after everything that
 * removes or rewrites a part of the log. Fails at the first difference. The suite has a short
 * version.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { compareVerdicts } from './verdict-steps.ts'

const { values } = parseArgs({
  options: {
    claims: { type: 'string', default: '100000' },
    revocations: { type: 'string', default: '200000' },
    store: { type: 'string' },
  },
})
const stores = (['sqlite', 'postgres'] as const).filter((kind) => kind === (values.store ?? kind))
const directory = mkdtempSync(join(tmpdir(), 'countersign-verdicts-'))
try {
  for (const kind of stores) {
    await compareVerdicts({
      kind,
      directory: join(directory, kind),
      revocations: Number(values.revocations),
      claims: Number(values.claims),
      say: (text) => console.log(text),
    })
  }
} catch (fault) {
  console.error(fault)
  process.exitCode = 1
} finally {
  rmSync(directory, { recursive: true, force: true })
}
