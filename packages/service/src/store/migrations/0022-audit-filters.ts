import { AUDIT_REJECTED } from '../audit-rows.ts'
import type { Migration } from './migration.ts'

/** Lists of audit rows by actor, action, target, outcome and request are read from an index. */
export const auditFilters: Migration = {
  version: 22,
  common: [
    // The outcome in \`detail\`, which is written without spaces. A quote inside a text of it has a
    // backslash before it, so these words can only be the member itself.
    `ALTER TABLE audit ADD COLUMN outcome TEXT NOT NULL DEFAULT 'done'`,
    `UPDATE audit SET outcome = 'unchanged' WHERE detail LIKE '%"outcome":"unchanged"%'`,
    // The actions of \`key\` are those of rejected API keys.
    `UPDATE audit SET outcome = '${AUDIT_REJECTED}' WHERE detail LIKE '%"outcome":"${AUDIT_REJECTED}"%' OR action LIKE 'key.%'`,
    `CREATE INDEX audit_by_actor ON audit (site_id, actor, id)`,
    `CREATE INDEX audit_by_action ON audit (site_id, action, id)`,
    `CREATE INDEX audit_by_target ON audit (site_id, target, id)`,
    `CREATE INDEX audit_by_request ON audit (site_id, request_id, id)`,
    // Nearly all rows are \`done\`, and finding them needs no index.
    `CREATE INDEX audit_by_outcome ON audit (site_id, outcome, id) WHERE outcome <> 'done'`,
    // For operators, who may not know the site of a request.
    `CREATE INDEX audit_of_request ON audit (request_id, id) WHERE request_id IS NOT NULL`,
  ],
  sqlite: [],
  postgres: [],
}
