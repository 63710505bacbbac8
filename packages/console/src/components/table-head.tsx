import type { ComponentChildren, JSX } from 'preact'

interface TableHeadProps {
  /** `extra` columns are left out on phones. */
  readonly columns: readonly (readonly [
    title: ComponentChildren,
    kind?: 'number' | 'extra' | 'number extra',
  ])[]
}

/** The titles of the columns of a table. */
export function TableHead({ columns }: TableHeadProps): JSX.Element {
  return (
    <thead>
      <tr>
        {columns.map(([title, kind], i) => (
          <th key={i} scope="col" class={kind}>
            {title}
          </th>
        ))}
      </tr>
    </thead>
  )
}
