import type { ComponentChildren, JSX } from 'preact'
import { useEffect, useId, useRef, useState } from 'preact/hooks'
import { call } from '../api/call.ts'
import { isPhone } from '../charts/scale.ts'
import { entriesSeen, isPaused } from '../live.ts'
import { describe, isAnswered } from '../revoke/state.ts'
import { place, setQuery } from '../router.ts'
import { say, sayCount } from '../say.ts'
import { AsCommand } from './as-command.tsx'
import { Command } from './copy.tsx'
import { Fault } from './fault.tsx'

interface Column<Item> {
  readonly title: string
  readonly cell: (item: Item) => ComponentChildren
  readonly isNumber?: boolean
  /** Left out on phones and on small tablets. */
  readonly isExtra?: boolean
  /** Left out on tablets and phones. */
  readonly isWide?: boolean
  /** Words of other people, which are broken anywhere when there is no room for them. */
  readonly isText?: boolean
  /** A box to select the row: it has no visible title and does not lead anywhere. */
  readonly isCheck?: boolean
}

/** A choice of values for one query parameter. The first is the default, with no parameter. */
interface Filter {
  readonly name: string
  readonly label: string
  readonly values: readonly (readonly [value: string, word: string])[]
}

/** A text for one query parameter. The list is loaded while the text is typed. */
interface TextFilter {
  readonly name: string
  readonly label: string
  readonly example: string
  /** A text that does not match is not complete yet, and is not sent. */
  readonly pattern?: RegExp
  /** A time in UTC, as the browser lets people choose it. */
  readonly isTime?: boolean
}

type Query = Readonly<Record<string, string | undefined>>

export interface ListProps<Item> {
  readonly title: string
  readonly about?: string
  /** The site whose role is used: `all` for lists of the whole service. */
  readonly siteId: string
  readonly path: string
  readonly columns: readonly Column<Item>[]
  readonly filters?: readonly Filter[]
  readonly texts?: readonly TextFilter[]
  /** The query of the API for what the address says. Default: the same names. */
  readonly toQuery?: (chosen: Query) => Query
  readonly toKey: (item: Item) => string
  /** Where a row leads. */
  readonly toHref?: (item: Item) => string
  readonly empty: { readonly sentence: string; readonly command: string }
  /** New rows wait behind a button when the log has grown. Own revocations are shown at once. */
  readonly isLive?: boolean
  readonly actions?: ComponentChildren
  /** The buttons of a row. */
  readonly rowActions?: (item: Item) => ComponentChildren
  /** The list as a command, for the menu beside the title. */
  readonly toCli?: (query: Query) => string
  /** The list is loaded again when this changes, such as after an act. */
  readonly version?: number
  /** Called with all rows that are shown. */
  readonly onItems?: (items: readonly Item[]) => void
  /** Between the title and the table. */
  readonly children?: ComponentChildren
  /** A heading of the second level, for a list inside a page. */
  readonly isPart?: boolean
}

interface Loaded<Item> {
  readonly items: readonly Item[]
  readonly cursor: string | null
  readonly fault: string | undefined
  readonly isLoading: boolean
}

const NOTHING = { items: [], cursor: null, fault: undefined, isLoading: true }
const LIMIT = 50
/** Of the API. */
const LIMIT_MAX = 200
/** As many pages are loaded again with the address. */
const PAGES_MAX = 20
const TYPING_MS = 200

/** A table of one list of the API, with filters in the address and one page after the other. */
export function List<Item>(props: ListProps<Item>): JSX.Element {
  const { title, about, siteId, path, columns, filters = [], texts = [], toKey, empty } = props
  const { query } = place.value
  const names = [...filters, ...texts].map(({ name }) => name)
  const chosen: Query = Object.fromEntries(names.map((name) => [name, query.get(name) ?? undefined]))
  const isComplete = texts.every(
    ({ name, pattern }) => pattern?.test(chosen[name] ?? '') !== false || !chosen[name],
  )
  const toQuery = props.toQuery ?? ((given: Query) => given)
  const key = JSON.stringify([path, siteId, chosen, props.version])
  const [loaded, setLoaded] = useState<Loaded<Item>>(NOTHING)
  const [seenAt, setSeenAt] = useState(entriesSeen.peek())
  const running = useRef<AbortController | undefined>(undefined)

  const load = async (cursor: string | undefined, before: readonly Item[], pages: number) => {
    running.current?.abort()
    const stop = new AbortController()
    running.current = stop
    setLoaded((last) => ({ ...last, isLoading: true, fault: undefined }))
    try {
      let items = before
      let next: string | null | undefined = cursor
      const wanted = before.length + pages * LIMIT
      for (let n = 0; n < pages && items.length < wanted && next !== null; n++) {
        const page: { items: readonly Item[]; next_cursor?: string | null } = await call(path, {
          site: siteId,
          query: { ...toQuery(chosen), limit: Math.min(wanted - items.length, LIMIT_MAX), cursor: next },
          signal: stop.signal,
        })
        items = [...items, ...page.items]
        next = page.next_cursor ?? null
      }
      setLoaded({ items, cursor: next ?? null, fault: undefined, isLoading: false })
      props.onItems?.(items)
    } catch (fault) {
      if (!stop.signal.aborted) setLoaded((last) => ({ ...last, isLoading: false, fault: describe(fault) }))
    }
  }
  const reload = () => {
    setSeenAt(entriesSeen.peek())
    void load(undefined, [], Math.min(Math.max(1, Number(query.get('pages') ?? 1) || 1), PAGES_MAX))
  }
  const hasLoaded = useRef(false)
  useEffect(() => {
    if (!isComplete) return
    const timer = setTimeout(reload, hasLoaded.current && texts.length > 0 ? TYPING_MS : 0)
    hasLoaded.current = true
    return () => clearTimeout(timer)
  }, [key])
  useEffect(() => {
    if (props.isLive && isAnswered.value) reload()
  }, [isAnswered.value])
  useEffect(() => () => running.current?.abort(), [])

  const showMore = (cursor: string) => {
    setQuery({ pages: String(Math.ceil(items.length / LIMIT) + 1) }, { replace: true })
    void load(cursor, items, 1)
  }
  const { items, cursor, fault, isLoading } = loaded
  const linkAt = columns.findIndex(({ isCheck }) => isCheck !== true)
  // What was unfolded stays so while a filter is typed or cleared.
  const [isUnfolded] = useState(() => !isPhone() || names.some((name) => query.has(name)))
  const choices = filters.length > 0 && (
    <div class="filter-row">
      {filters.map((filter) => (
        <Choices key={filter.name} {...filter} chosen={chosen[filter.name] ?? ''} />
      ))}
    </div>
  )
  const Heading = props.isPart === true ? 'h2' : 'h1'
  return (
    <>
      <div class="title">
        <div>
          <Heading>{title}</Heading>
          {about !== undefined && <p class="meta">{about}</p>}
        </div>
        <div class="acts">
          <AsCommand
            curl={{ path, query: { ...toQuery(chosen), limit: LIMIT } }}
            cli={props.toCli?.(toQuery(chosen))}
          />
          {props.actions}
        </div>
      </div>
      {props.children}
      {texts.length > 0 ? (
        // On phones they would fill the first screen.
        <details class="filters" open={isUnfolded}>
          <summary>{say('Filters')}</summary>
          <search class="texts">
            {texts.map((text) => (
              <TextField key={text.name} {...text} value={chosen[text.name] ?? ''} />
            ))}
          </search>
          {choices}
        </details>
      ) : (
        choices
      )}
      <Fault text={fault} onRetry={reload} />
      {props.isLive === true && <NewRows seenAt={seenAt} onShow={reload} />}
      {!isComplete ? (
        <p class="card empty">{say('Complete the filter to search.')}</p>
      ) : items.length === 0 && !isLoading && fault === undefined ? (
        <div class="card empty">
          {cursor === null ? (
            <>
              <p>{empty.sentence}</p>
              <Command text={empty.command} />
            </>
          ) : (
            <p>{say('Nothing was found among the first rows. There are more to search.')}</p>
          )}
        </div>
      ) : (
        <div class="card table">
          <table class="list" aria-busy={isLoading}>
            <thead>
              <tr>
                {columns.map((column) => (
                  <th key={column.title} scope="col" class={toClass(column)}>
                    {column.isCheck === true ? (
                      <span class="visually-hidden">{column.title}</span>
                    ) : (
                      column.title
                    )}
                  </th>
                ))}
                {props.rowActions !== undefined && (
                  <th scope="col">
                    <span class="visually-hidden">{say('Actions')}</span>
                  </th>
                )}
              </tr>
            </thead>
            <tbody>
              {items.map((item) => (
                <tr key={toKey(item)}>
                  {columns.map((column, i) => (
                    <td
                      key={column.title}
                      class={i === linkAt ? `main ${toClass(column)}` : toClass(column)}
                      data-title={i === linkAt || column.isCheck === true ? undefined : column.title}
                    >
                      {i === linkAt && props.toHref !== undefined ? (
                        <a href={props.toHref(item)}>{column.cell(item)}</a>
                      ) : (
                        column.cell(item)
                      )}
                    </td>
                  ))}
                  {props.rowActions !== undefined && <td class="row-acts">{props.rowActions(item)}</td>}
                </tr>
              ))}
              {isLoading && items.length === 0 && <Blocks columns={columns.length} />}
            </tbody>
          </table>
        </div>
      )}
      {isComplete && cursor !== null && (
        <button type="button" class="more" disabled={isLoading} onClick={() => showMore(cursor)}>
          {say('Show more')}
        </button>
      )}
    </>
  )
}

interface NewRowsProps {
  readonly seenAt: number
  readonly onShow: () => void
}

/** A component of its own: the rows are not drawn again with each entry of the log. */
function NewRows({ seenAt, onShow }: NewRowsProps): JSX.Element | null {
  const waiting = isPaused.value ? 0 : entriesSeen.value - seenAt
  return waiting > 0 ? (
    <button type="button" class="new-rows" onClick={onShow}>
      {sayCount(waiting, 'One new entry', '{count} new entries')}
    </button>
  ) : null
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

/** Typing adds one entry to the history, however many keys are pressed. */
function TextField(props: TextFilter & { readonly value: string }): JSX.Element {
  const { name, label, example, pattern, isTime = false, value } = props
  const hasEntry = useRef(false)
  const id = useId()
  const common = {
    id,
    value,
    onFocus: () => {
      hasEntry.current = false
    },
    onInput: ({ currentTarget }: { readonly currentTarget: HTMLInputElement }) => {
      setQuery({ [name]: currentTarget.value, pages: undefined }, { replace: hasEntry.current })
      hasEntry.current = true
    },
  }
  return (
    <label htmlFor={id}>
      {label}
      {isTime ? (
        <input type="datetime-local" step={1} {...common} />
      ) : (
        <input
          type="search"
          placeholder={example}
          autocomplete="off"
          spellcheck={false}
          maxLength={1024}
          aria-invalid={value !== '' && pattern?.test(value) === false}
          {...common}
        />
      )}
    </label>
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
          onClick={() => setQuery({ [name]: value, pages: undefined })}
        >
          {word}
        </button>
      ))}
    </fieldset>
  )
}

function toClass({
  isNumber = false,
  isExtra = false,
  isWide = false,
  isText = false,
  isCheck = false,
}: Pick<Column<never>, 'isNumber' | 'isExtra' | 'isWide' | 'isText' | 'isCheck'>): string {
  return [isNumber && 'number', isExtra && 'extra', isWide && 'wide', isText && 'text', isCheck && 'check']
    .filter((name) => name !== false)
    .join(' ')
}
