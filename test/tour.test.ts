import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { describe, expect, test } from 'vitest'

const root = join(import.meta.dirname, '..')

function tour(env: NodeJS.ProcessEnv = {}): string {
  const { NO_COLOR: _, FORCE_COLOR: __, ...inherited } = process.env
  return execFileSync(process.execPath, ['--conditions=countersign-source', join(root, 'scripts/tour.ts')], {
    env: { ...inherited, ...env },
    encoding: 'utf8',
  })
}

/** The lines of the step with that title, without their indentation. */
function step(printed: string, title: string): readonly string[] {
  const [, ...steps] = printed.split(/^ ?\d+\. /m)
  const found = steps.find((text) => text.startsWith(title))
  if (found === undefined) throw new Error(`the tour has no step "${title}"`)
  return found
    .trim()
    .split('\n')
    .slice(1)
    .map((line) => line.trim())
}

describe('the tour', () => {
  const printed = tour()

  test.each([
    ['The site verifies it', /^Allow +orders:read orders:write$/],
    ['A credential for another site', /^Deny +site_mismatch: /],
    ['A credential that has expired', /^Deny +credential_expired: /],
    ['A credential bound to the key of the agent, copied', /^Deny +proof_required: /],
    ['The same from the agent, who signs the request', /^Allow +orders:read orders:write$/],
    ['The same request, sent once more', /^Deny +proof_replayed: /],
    ['The verifier loses sight', /^Deny +revocation_view_stale: /],
  ])('%s', (title, verdict) => {
    expect(step(printed, title)[0]).toMatch(verdict)
  })

  test('a delegated credential has only what was delegated', () => {
    expect(step(printed, 'The agent hands a narrower credential')[1]).toMatch(/^Allow +orders:read$/)
  })

  test('a revocation is applied to the view and denies from then on', () => {
    const [log, verdict] = step(printed, 'The first credential is revoked')
    expect(log).toMatch(/^log +3 +credential\.revoked +applied$/)
    expect(verdict).toMatch(/^Deny +credential_revoked: /)
  })

  test('the explanation is one aligned table with exactly one denial', () => {
    const rows = step(printed, 'Why?')
    const columns = rows.map((row) => row.search(/(?:passed|denied|skipped|allowed)/))
    expect(new Set(columns).size).toBe(1)
    expect(rows.filter((row) => / denied /.test(row))).toEqual([
      expect.stringMatching(/^revocation +denied +credential_revoked$/),
    ])
  })

  test('no credential and no private key is printed', () => {
    expect(printed).not.toMatch(/[A-Za-z0-9_-]{200,}/)
    expect(printed).not.toMatch(/"d"|eyJ/)
  })

  test('there are no colours where there is no terminal', () => {
    expect(printed).toBe(stripVTControlCharacters(printed))
  })
})

test('colours can be asked for and turned off again', { tags: 'long' }, () => {
  const coloured = tour({ FORCE_COLOR: '1' })
  expect(coloured).not.toBe(stripVTControlCharacters(coloured))
  const plain = tour({ NO_COLOR: '1' })
  expect(plain).toBe(stripVTControlCharacters(plain))
})
