import { atMost, type Verdict } from './verdict.ts'
import type { Row } from './view.ts'

/** The promises on the view, as far as the rows tell; a size that was not measured is left out. */
export function viewVerdicts(rows: readonly Row[]): Verdict[] {
  const measured = (name: string) => rows.find((row) => row.name === name)?.value
  const verdicts: Verdict[] = []
  for (const size of ['1,000,000', '10,000,000']) {
    const bytes = measured(`view of ${size}: memory per revocation`)
    if (bytes !== undefined) verdicts.push(atMost(`view ≤ 40 bytes per revocation at ${size}`, 40, bytes))
  }
  const seconds = measured('1,000,000 entries parsed, hashed and applied')
  if (seconds !== undefined) verdicts.push(atMost('a million entries applied in ≤ 5 s', 5, seconds))
  return verdicts
}
