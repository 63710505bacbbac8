import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { endpointList } from '@countersign/core/contract'
import { createOpenapi } from '../packages/service/src/openapi.ts'

/**
 * Lints the document that the service serves as /openapi.json, without a service and without the
 * network.
 */
const root = join(import.meta.dirname, '..')
const scratch = mkdtempSync(join(tmpdir(), 'countersign-openapi-'))
try {
  const file = join(scratch, 'openapi.json')
  writeFileSync(file, JSON.stringify(createOpenapi(endpointList, 'https://id.example'), null, 2))
  const redocly = join(root, 'tools/node_modules/@redocly/cli/bin/cli.js')
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [redocly, 'lint', file, '--config', join(root, 'redocly.yaml')],
    {
      encoding: 'utf8',
      // It would ask the registry for newer versions, and tell its makers what was linted.
      env: {
        ...process.env,
        NO_COLOR: '1',
        REDOCLY_TELEMETRY: 'off',
        REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true',
      },
    },
  )
  if (status !== 0) {
    console.error(`${stdout}${stderr}`)
    process.exitCode = 1
  } else console.log(`openapi.json: ${endpointList.length} endpoints, nothing to complain about`)
} finally {
  rmSync(scratch, { recursive: true, force: true })
}
