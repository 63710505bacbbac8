import type { JSX } from 'preact'

interface ChecksProps<Value extends string> {
  readonly legend: string
  readonly words: Readonly<Record<Value, string>>
  readonly chosen: readonly Value[]
  readonly onChange: (chosen: readonly Value[]) => void
}

/** A list of things that can be switched on, each with its name in the API. */
export function Checks<Value extends string>(props: ChecksProps<Value>): JSX.Element {
  const { legend, words, chosen, onChange } = props
  const all = Object.keys(words) as Value[]
  return (
    <fieldset class="checks">
      <legend>{legend}</legend>
      {all.map((value) => (
        <label key={value}>
          <input
            type="checkbox"
            checked={chosen.includes(value)}
            onChange={({ currentTarget: { checked } }) =>
              onChange(all.filter((each) => (each === value ? checked : chosen.includes(each))))
            }
          />
          <span>
            {words[value]}
            <code class="meta">{value}</code>
          </span>
        </label>
      ))}
    </fieldset>
  )
}
