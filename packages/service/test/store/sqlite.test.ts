import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'
import { openStore } from '../../src/store/open.ts'
import { MASTER_KEY, quietLog } from './fixtures.ts'
import { storeSuite } from './store-suite.ts'

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
