import type { ComponentChildren, JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { call } from '../api/call.ts'
import { entriesSeen, isPaused } from '../live.ts'
import { describe } from '../revoke/state.ts'
import { place, setQuery } from '../router.ts'
import { Command } from './copy.tsx'

interface Column<Item> {
  readonly title: string
  readonly cell: (item: Item) => ComponentChildren
  readonly isNumber?: boolean
  /** Left out on phones. */
  readonly isExtra?: boolean
}

/** A choice of values for one query parameter. The first is the default, with no parameter. */
interface Filter {
  readonly name: string
  readonly label: string
  readonly values: readonly (readonly [value: string, word: string])[]
}

export interface ListProps<Item> {
  readonly title: string
  readonly about?: string
  readonly siteId: string
  readonly path: string
  readonly columns: readonly Column<Item>[]
  readonly filters?: readonly Filter[]
  readonly toKey: (item: Item) => string
  /** Where a row leads. */
  readonly toHref?: (item: Item) => string
  readonly empty: { readonly sentence: string; readonly command: string }
  /** Loads again when the log has grown; new rows wait behind a button. */
  readonly isLive?: boolean
  readonly actions?: ComponentChildren
}

interface Loaded<Item> {
  readonly items: readonly Item[]
  readonly cursor: string | null
  readonly fault: string | undefined
  readonly isLoading: boolean
}

const NOTHING = { items: [], cursor: null, fault: undefined, isLoading: true }
const LIMIT = 50

/** A table of one list of the API, with filters in the address and one page after the other. */
export function List<Item>(props: ListProps<Item>): JSX.Element {
  const { title, about, siteId, path, columns, filters = [], toKey, empty, isLive = false } = props
  const { query } = place.value
  const chosen = Object.fromEntries(filters.map(({ name }) => [name, query.get(name) ?? undefined]))
  const key = JSON.stringify([path, siteId, chosen])
  const [loaded, setLoaded] = useState<Loaded<Item>>(NOTHING)
  const [seenAt, setSeenAt] = useState(entriesSeen.value)

  const load = async (cursor: string | undefined, before: readonly Item[]) => {
    setLoaded((last) => ({ ...last, isLoading: true, fault: undefined }))
    try {
      const page = await call<{ items: readonly Item[]; next_cursor?: string | null }>(path, {
        site: siteId,
        query: { ...chosen, limit: LIMIT, cursor },
      })
      setLoaded({
        items: [...before, ...page.items],
        cursor: page.next_cursor ?? null,
        fault: undefined,
        isLoading: false,
      })
    } catch (fault) {
      setLoaded((last) => ({ ...last, isLoading: false, fault: describe(fault) }))
    }
  }
  const reload = () => {
    setSeenAt(entriesSeen.value)
    void load(undefined, [])
  }
  useEffect(() => {
    setLoaded(NOTHING)
    reload()
  }, [key])

  const waiting = isLive && !isPaused.value ? entriesSeen.value - seenAt : 0
  const { items, cursor, fault, isLoading } = loaded
  return (
    <>
      <div class="title">
        <div>
          <h1>{title}</h1>
          {about !== undefined && <p class="meta">{about}</p>}
        </div>
        {props.actions}
      </div>
      {filters.map((filter) => (
        <Choices key={filter.name} {...filter} chosen={chosen[filter.name] ?? ''} />
      ))}
      {fault !== undefined && (
        <p class="fault" role="alert">
          {fault}
        </p>
      )}
      {waiting > 0 && (
        <button type="button" class="new-rows" onClick={reload}>
          {waiting === 1 ? 'One new entry' : `${waiting} new entries`}
        </button>
      )}
      {items.length === 0 && !isLoading && fault === undefined ? (
        <div class="card empty">
          <p>{empty.sentence}</p>
          <Command text={empty.command} />
        </div>
      ) : (
        <div class="card table">
          <table aria-busy={isLoading}>
            <thead>
              <tr>
                {columns.map((column) => (
                  <th key={column.title} scope="col" class={classOf(column)}>
                    {column.title}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {items.map((item) => (
                <tr key={toKey(item)}>
                  {columns.map((column, i) => (
                    <td key={column.title} class={classOf(column)}>
                      {i === 0 && props.toHref !== undefined ? (
                        <a href={props.toHref(item)}>{column.cell(item)}</a>
                      ) : (
                        column.cell(item)
                      )}
                    </td>
                  ))}
                </tr>
              ))}
              {isLoading && items.length === 0 && <Blocks columns={columns.length} />}
            </tbody>
          </table>
        </div>
      )}
      {cursor !== null && (
        <button type="button" class="more" disabled={isLoading} onClick={() => void load(cursor, items)}>
          Show more
        </button>
      )}
    </>
  )
}

/** Grey blocks in the size of the rows that will come. */
function Blocks({ columns }: { readonly columns: number }): JSX.Element {
  return (
    <>
      {[0, 1, 2, 3].map((row) => (
        <tr key={row}>
          {Array.from({ length: columns }, (_, i) => (
            <td key={i}>
              <span class="block" />
            </td>
          ))}
        </tr>
      ))}
    </>
  )
}

function Choices({ name, label, values, chosen }: Filter & { readonly chosen: string }): JSX.Element {
  return (
    <fieldset class="choices">
      <legend class="visually-hidden">{label}</legend>
      {values.map(([value, word]) => (
        <button
          key={value}
          type="button"
          aria-pressed={chosen === value}
          onClick={() => setQuery({ [name]: value })}
        >
          {word}
        </button>
      ))}
    </fieldset>
  )
}

function classOf({ isNumber = false, isExtra = false }: Pick<Column<never>, 'isNumber' | 'isExtra'>): string {
  return [isNumber ? 'number' : '', isExtra ? 'extra' : ''].join(' ').trim()
}
