import type { RevocationTarget } from '@countersign/core/contract'
import { type Signal, useComputed, useSignal } from '@preact/signals'
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

type Chosen = ReadonlyMap<string, RevocationTarget>

/**
 * Rows of a list that were chosen. Rows that cannot be revoked cannot be chosen. With signals, only
 * a box and the bar are drawn again for each choice, not a thousand rows.
 */
export interface Selection<Item> {
  readonly items: Signal<readonly Item[]>
  readonly chosen: Signal<Chosen>
  readonly toTarget: (item: Item) => RevocationTarget | undefined
  /** What is no longer shown, or was revoked meanwhile, is no longer chosen. */
  setItems(items: readonly Item[]): void
}

export function useSelection<Item>(toTarget: Selection<Item>['toTarget']): Selection<Item> {
  const items = useSignal<readonly Item[]>([])
  const chosen = useSignal<Chosen>(new Map())
  return {
    items,
    chosen,
    toTarget,
    setItems(next) {
      items.value = next
      const shown = toChosen(next.map(toTarget))
      chosen.value = new Map([...chosen.peek()].filter(([key]) => shown.has(key)))
    },
  }
}

function toChosen(targets: readonly (RevocationTarget | undefined)[]): Chosen {
  return new Map(
    targets.flatMap((each) => {
      const key = each?.ppid ?? each?.credential_id ?? each?.token_id
      return each === undefined || key === undefined ? [] : [[key, each]]
    }),
  )
}

/** The column with a box for each row. */
export function selectionColumn<Item>({ chosen, toTarget }: Selection<Item>, toKey: (item: Item) => string) {
  return {
    title: say('Select'),
    isCheck: true,
    cell: (item: Item): JSX.Element | null => {
      const target = toTarget(item)
      return target === undefined ? null : <Box id={toKey(item)} target={target} chosen={chosen} />
    },
  }
}

interface BoxProps {
  readonly id: string
  readonly target: RevocationTarget
  readonly chosen: Selection<never>['chosen']
}

function Box({ id, target, chosen }: BoxProps): JSX.Element {
  const isChosen = useComputed(() => chosen.value.has(id))
  return (
    <input
      type="checkbox"
      aria-label={say('Select {key}', { key: id })}
      checked={isChosen}
      onChange={(event) => {
        const next = new Map(chosen.value)
        if (event.currentTarget.checked) next.set(id, target)
        else next.delete(id)
        chosen.value = next
      }}
    />
  )
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
  const { toTarget } = selection
  const chosen = selection.chosen.value
  const setChosen = (next: Chosen) => {
    selection.chosen.value = next
  }
  const [counting, setCounting] = useState<string>()
  const shown = toChosen(selection.items.value.map(toTarget))
  if (shown.size === 0) return null
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
        <button type="button" class="quiet" onClick={() => setChosen(shown)}>
          {say('Select these {count}', { count: formatCount(shown.size) })}
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
