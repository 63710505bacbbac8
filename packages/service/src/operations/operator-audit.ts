import type { Config } from '../config.ts'
import { readStore } from '../store/maintenance.ts'
import type { AuditRow } from '../store/operations/audit.ts'

const PAGE = 200

/**
 * Reads the audit rows of the service itself, the newest first, at most `count`. Writes nothing;
 * the store may be in use.
 */
export function readOperatorAudit(
  store: Config['store'],
  count: number,
  onRow: (row: AuditRow) => void,
): Promise<void> {
  return readStore(store, async ({ auditRows }) => {
    let left = count
    for (let after: string | undefined; left > 0; ) {
      const rows = await auditRows(null, { after, limit: Math.min(PAGE, left) })
      for (const row of rows) onRow(row)
      left -= rows.length
      after = rows.at(-1)?.id
      if (rows.length < PAGE) return
    }
  })
}
