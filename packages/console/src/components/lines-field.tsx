import type { JSX } from 'preact'

interface LinesFieldProps {
  readonly label: string
  readonly hint?: string
  readonly example?: string
  readonly value: string
  readonly isFirst?: boolean
  readonly onChange: (value: string) => void
}

/** A list as text: one value in each line. */
export function LinesField(props: LinesFieldProps): JSX.Element {
  const { label, hint, example, value, isFirst = false, onChange } = props
  return (
    <label>
      {label}
      <textarea
        data-first={isFirst ? '' : undefined}
        rows={3}
        spellcheck={false}
        value={value}
        placeholder={example}
        onInput={(event) => onChange(event.currentTarget.value)}
      />
      {hint !== undefined && <span class="hint">{hint}</span>}
    </label>
  )
}

/** The values of the text; undefined if there is none. */
export function toLines(text: string): readonly string[] | undefined {
  const lines = text.split(/[\s,]+/).filter((line) => line !== '')
  return lines.length === 0 ? undefined : lines
}
