/** What the conformance client says of one case. */
export interface CaseResult {
  readonly id: string
  readonly title: string
  readonly result: 'pass' | 'fail' | 'skip'
  readonly message?: string
}

/** The results of a run, sorted by what they mean for us. */
export interface Judgement {
  readonly passed: number
  readonly skipped: readonly CaseResult[]
  /** These fail the run. */
  readonly failed: readonly CaseResult[]
  /** Excluded, and still failing. */
  readonly excused: number
  /** Excluded without need: they pass. */
  readonly stale: readonly string[]
  /** Excluded, but the client has no such case. */
  readonly unknown: readonly string[]
}

/**
 * Excluded cases by id, each with its reason. Throws a TypeError when a line has no reason, or an
 * id comes twice.
 */
export function readExcluded(text: string): ReadonlyMap<string, string> {
  const excluded = new Map<string, string>()
  for (const line of text.split('\n')) {
    if (line.trim() === '' || line.startsWith('#')) continue
    const [, id, reason] = /^([A-Z]\d+)\s+(\S.*)$/.exec(line) ?? []
    if (id === undefined || reason === undefined) throw new TypeError(`not an id and a reason: ${line}`)
    if (excluded.has(id)) throw new TypeError(`${id} is excluded twice`)
    excluded.set(id, reason)
  }
  return excluded
}

/**
 * A case that fails and is not excluded fails the run; an excluded one is only counted, so that the
 * list can shrink.
 */
export function judge(results: readonly CaseResult[], excluded: ReadonlyMap<string, string>): Judgement {
  const required = results.filter(({ id }) => !excluded.has(id))
  const others = results.filter(({ id }) => excluded.has(id))
  const ids = new Set(results.map(({ id }) => id))
  return {
    passed: required.filter(({ result }) => result === 'pass').length,
    skipped: required.filter(({ result }) => result === 'skip'),
    failed: required.filter(({ result }) => result !== 'pass' && result !== 'skip'),
    excused: others.filter(({ result }) => result !== 'pass').length,
    stale: others.filter(({ result }) => result === 'pass').map(({ id }) => id),
    unknown: [...excluded.keys()].filter((id) => !ids.has(id)),
  }
}
