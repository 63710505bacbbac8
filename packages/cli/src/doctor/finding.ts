/** The result of one check. `skipped`: the check needs something that was not given. */
export interface Finding {
  readonly check: string
  readonly level: 'ok' | 'warning' | 'problem' | 'skipped'
  readonly detail: string
  /** What to do. */
  readonly fix?: string
  /** Of the check `pins`: the `feedKeys` option of a guard. */
  readonly pins?: Readonly<Record<string, string>>
}

export const ok = (check: string, detail: string): Finding => ({ check, level: 'ok', detail })
export const warning = (check: string, detail: string, fix: string): Finding => ({
  check,
  level: 'warning',
  detail,
  fix,
})
export const problem = (check: string, detail: string, fix: string): Finding => ({
  check,
  level: 'problem',
  detail,
  fix,
})
export const skipped = (check: string, detail: string): Finding => ({ check, level: 'skipped', detail })
