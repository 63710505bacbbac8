import type { Migration } from './migration.ts'

/** How many decisions verifiers and the service made. */
export const verdictTallies: Migration = {
  version: 29,
  common: [
    // \`span_ms\` is a minute or an hour; \`at\` is its beginning. \`verifier_id\` is the name of a
    // guard, or one of the words in parentheses of \`TalliedVerifier\`.
    `CREATE TABLE verdict_tallies (
      site_id TEXT NOT NULL,
      span_ms BIGINT NOT NULL,
      at BIGINT NOT NULL,
      verifier_id TEXT NOT NULL,
      presented TEXT NOT NULL,
      outcome TEXT NOT NULL,
      verdicts BIGINT NOT NULL,
      PRIMARY KEY (site_id, span_ms, at, verifier_id, presented, outcome)
    )`,
    `CREATE INDEX verdict_tallies_by_time ON verdict_tallies (span_ms, at)`,
  ],
  sqlite: [],
  postgres: [],
}
