import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { sections } from '../packages/cli/src/commands/all.ts'
import { settingNames } from '../packages/service/src/config/setting-names.ts'
import { readConfig } from '../packages/service/src/config.ts'
import { createMeters } from '../packages/service/src/meters.ts'

const text = readFileSync(join(import.meta.dirname, '../docs/operating.md'), 'utf8')
const [, section = ''] = /^## Settings\n(.*?)^## /ms.exec(text) ?? []
const rows = section.split('\n').flatMap((line) => {
  const cells = line.split('|').slice(1, -1)
  return line.startsWith('| `') ? [cells.map((cell) => cell.trim().replaceAll('&lt;', '<'))] : []
})
const dataDir = mkdtempSync(join(tmpdir(), 'countersign-'))
afterAll(() => rmSync(dataDir, { recursive: true, force: true }))

const SECRETS = ['console_oidc_client_secret', 'database_url', 'master_key']
const bare = (cell = '') => cell.replace(/^`|`$/g, '')
const good = {
  COUNTERSIGN_BASE_URL: 'https://id.example',
  COUNTERSIGN_MASTER_KEY: '0123456789abcdef'.repeat(4),
}

test('operating.md lists every setting, in the order of the code', () => {
  expect(rows.map(([name]) => bare(name))).toEqual([...settingNames])
})

describe.each(rows.map((cells) => [bare(cells[0]), cells] as const))(
  'the row of %s',
  (name, [, variable, flag, standard, wrong, says]) => {
    const ofSetting = `COUNTERSIGN_${name.toUpperCase()}`
    const isFile = name === 'master_key_file'

    test('names its variable and its flag', () => {
      expect(variable?.split(', ')[0]).toBe(`\`${ofSetting}\``)
      expect(flag).toBe(SECRETS.includes(name) ? 'none' : `\`--${name.replaceAll('_', '-')}\``)
      if (SECRETS.includes(name))
        expect(() =>
          readConfig('production', { flags: [[(flag ?? '').replace(/^--/, ''), 'x']], env: good }),
        ).toThrow()
    })
    test('quotes what is said of a wrong value', () => {
      const { COUNTERSIGN_MASTER_KEY: _, ...others } = good
      const env = { ...(isFile ? others : good), [ofSetting]: wrong === '(nothing)' ? '' : bare(wrong) }
      expect(() => readConfig('production', { env })).toThrow(
        new TypeError(`These settings are invalid:\n  - ${says}`),
      )
    })
    test('tells its default', () => {
      if (!/^`[^`]+`$/.test(standard ?? ''))
        return expect(standard).toMatch(/^(?:none|must be set|`.+` in `data_dir`)$/)
      const given = readConfig('production', { env: { ...good, [ofSetting]: bare(standard) } })
      expect(given).toEqual(readConfig('production', { env: good }))
    })
  },
)

test('operating.md names every command and every metric', async () => {
  for (const [name] of sections[0]?.[1] ?? []) expect(text).toContain(name)
  const meters = createMeters()
  meters.watchView(() => ({ ageMs: 0, position: 0, audited: 1 }))
  meters.watchWebhooks(async () => ({ pending: 0, failed: 0, disabled: 0, oldestPendingSeconds: 0 }))
  const names = [...(await meters.text()).matchAll(/^# TYPE (\w+)/gm)].map(([, name]) => String(name))
  expect(names.length).toBeGreaterThan(4)
  for (const name of names) expect(text).toContain(name)
})
