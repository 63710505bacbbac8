import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, vi } from 'vitest'
import { openStore } from '../../src/store/open.ts'
import { MASTER_KEY, quietLog } from './fixtures.ts'
import { storeSuite } from './store-suite.ts'

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 })

const directory = mkdtempSync(join(tmpdir(), 'countersign-sqlite-'))
afterAll(() => rmSync(directory, { recursive: true }))

storeSuite('SQLite', () =>
  openStore(
    { kind: 'sqlite', file: join(directory, 'store.db') },
    {
      masterKey: MASTER_KEY,
      log: quietLog,
      onFatal: (fault) => {
        throw fault
      },
    },
  ),
)
