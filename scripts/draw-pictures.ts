/**
 * `npm run pictures` draws the pictures of the documentation into docs/pictures/, and
 * `npm run bench-plots` those that show measurements, from bench/figures.json.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { drawArchitecture } from './pictures/architecture.ts'
import { drawBenchService, drawBenchTargets, drawBenchVerify, readFigures } from './pictures/bench.ts'
import { drawChecks } from './pictures/checks.ts'
import { drawDelegation } from './pictures/delegation.ts'
import { drawDeployment } from './pictures/deployment.ts'
import { drawFlow } from './pictures/flow.ts'
import { drawKeyRotation } from './pictures/key-rotation.ts'
import { drawRevocationPath } from './pictures/revocation-path.ts'
import { drawSignIn } from './pictures/sign-in.ts'
import { drawOwnTokens, drawSignals } from './pictures/stories.ts'
import type { Picture } from './pictures/svg.ts'
import { drawComparison, drawRevocationTimes } from './pictures/times.ts'

export const FOLDER = join(import.meta.dirname, '../docs/pictures')

/** All pictures by name: `<name>.svg` is the wide one, `<name>-narrow.svg` the upright one. */
export function drawPictures(): Readonly<Record<string, string>> {
  const figures = readFigures()
  const pictures: Readonly<Record<string, Picture>> = {
    architecture: drawArchitecture(),
    'bench-service': drawBenchService(figures),
    'bench-targets': drawBenchTargets(figures),
    'bench-verify': drawBenchVerify(figures),
    checks: drawChecks(),
    comparison: drawComparison(),
    delegation: drawDelegation(),
    deployment: drawDeployment(),
    flow: drawFlow(),
    'key-rotation': drawKeyRotation(),
    'own-tokens': drawOwnTokens(),
    'revocation-path': drawRevocationPath(),
    'revocation-times': drawRevocationTimes(),
    'sign-in': drawSignIn(),
    signals: drawSignals(),
  }
  return Object.fromEntries(
    Object.entries(pictures).flatMap(([name, { wide, narrow }]) => [
      [`${name}.svg`, wide],
      [`${name}-narrow.svg`, narrow],
    ]),
  )
}

if (import.meta.main) {
  mkdirSync(FOLDER, { recursive: true })
  const prefix = process.argv[2] ?? ''
  for (const [name, text] of Object.entries(drawPictures()))
    if (name.startsWith(prefix)) writeFileSync(join(FOLDER, name), text)
}
