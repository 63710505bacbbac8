import type { RevocationTarget } from '@countersign/core/contract'
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { toTooltip } from '../keyboard.ts'
import { formatCount, say } from '../say.ts'
import { describe, findMatching, MATCHING_MAX, startRevokeTarget, type Target } from './state.ts'
import { countTargets } from './target.ts'

interface RevokeRowProps {
  readonly siteId: string
  readonly target: Target
}

/** The button of a row. The key `r` presses it for the row that has the focus. */
export function RevokeRow({ siteId, target }: RevokeRowProps): JSX.Element {
  return (
    <button
      type="button"
      class="quiet small"
      data-revoke
      title={toTooltip('revoke')}
      onClick={() => startRevokeTarget(siteId, target)}
    >
      {say('Revoke')}
    </button>
  )
}

/** Rows of a list that were chosen. Rows that cannot be revoked cannot be chosen. */
export interface Selection<Item> {
  readonly items: readonly Item[]
  readonly chosen: ReadonlyMap<string, RevocationTarget>
  readonly toTarget: (item: Item) => RevocationTarget | undefined
  setItems(items: readonly Item[]): void
  setChosen(chosen: ReadonlyMap<string, RevocationTarget>): void
}

export function useSelection<Item>(toTarget: Selection<Item>['toTarget']): Selection<Item> {
  const [items, setItems] = useState<readonly Item[]>([])
  const [chosen, setChosen] = useState<ReadonlyMap<string, RevocationTarget>>(new Map())
  return { items, chosen, toTarget, setItems, setChosen }
}

/** The column with a box for each row. */
export function selectionColumn<Item>(selection: Selection<Item>, toKey: (item: Item) => string) {
  const { chosen, toTarget, setChosen } = selection
  return {
    title: say('Select'),
    isCheck: true,
    cell: (item: Item): JSX.Element | null => {
      const target = toTarget(item)
      const key = toKey(item)
      if (target === undefined) return null
      return (
        <input
          type="checkbox"
          aria-label={say('Select {key}', { key })}
          checked={chosen.has(key)}
          onChange={(event) => {
            const next = new Map(chosen)
            if (event.currentTarget.checked) next.set(key, target)
            else next.delete(key)
            setChosen(next)
          }}
        />
      )
    },
  }
}

interface SelectionBarProps<Item> {
  readonly selection: Selection<Item>
  readonly siteId: string
  readonly noun: 'users' | 'credentials' | 'tokens'
  readonly path: string
  readonly query: Readonly<Record<string, string | undefined>>
}

/**
 * "These 50" are the rows that are shown; "all that match" are all that the filter finds now, which
 * are counted first. The two are never the same button.
 */
export function SelectionBar<Item>(props: SelectionBarProps<Item>): JSX.Element | null {
  const { selection, siteId, noun, path, query } = props
  const { items, chosen, toTarget, setChosen } = selection
  const [counting, setCounting] = useState<string>()
  const shown = items.map(toTarget).filter((target) => target !== undefined)
  if (shown.length === 0) return null
  const start = (targets: readonly RevocationTarget[], choice: 'chosen' | 'matching') => {
    setChosen(new Map())
    startRevokeTarget(siteId, { kind: 'many', noun, targets, choice })
  }
  const startMatching = async () => {
    setCounting(say('Counting…'))
    try {
      const found = await findMatching(siteId, path, query, toTarget)
      if (found === undefined)
        return setCounting(
          say(
            'More than {max} match, which is too many for one act. Narrow the filter, or cut off the issuer or the site.',
            { max: formatCount(MATCHING_MAX) },
          ),
        )
      setCounting(undefined)
      if (found.length > 0) start(found, 'matching')
    } catch (fault) {
      setCounting(describe(fault))
    }
  }
  return (
    <section class="selection" aria-label={say('Selected rows')}>
      {chosen.size > 0 && (
        <>
          <strong>{say('{targets} selected', { targets: countTargets(chosen.size, noun) })}</strong>
          <button type="button" class="danger" onClick={() => start([...chosen.values()], 'chosen')}>
            {say('Revoke these {size}', { size: formatCount(chosen.size) })}
          </button>
          <button type="button" class="quiet" onClick={() => setChosen(new Map())}>
            {say('Clear')}
          </button>
        </>
      )}
      <span class="grow" />
      {chosen.size === 0 && (
        <button
          type="button"
          class="quiet"
          onClick={() =>
            setChosen(
              new Map(
                shown.map((target) => [target.ppid ?? target.credential_id ?? target.token_id ?? '', target]),
              ),
            )
          }
        >
          {say('Select these {count}', { count: formatCount(shown.length) })}
        </button>
      )}
      <button
        type="button"
        class="quiet"
        disabled={counting === say('Counting…')}
        onClick={() => void startMatching()}
      >
        {say('Revoke all that match…')}
      </button>
      {counting !== undefined && <p role="status">{counting}</p>}
    </section>
  )
}
