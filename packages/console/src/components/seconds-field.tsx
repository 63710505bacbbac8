import type { JSX } from 'preact'
import { sayCount } from '../say.ts'

interface SecondsFieldProps {
  readonly label: string
  readonly hint?: string
  readonly max: number
  readonly min?: number
  /** Empty for no limit. */
  readonly value: string
  readonly placeholder?: string
  readonly onChange: (value: string) => void
}

/** A number of seconds, with the same in words. */
export function SecondsField(props: SecondsFieldProps): JSX.Element {
  const { label, hint, max, min = 1, value, placeholder, onChange } = props
  const words = value === '' ? '' : formatSpan(Number(value))
  return (
    <label>
      {label}
      <input
        type="number"
        inputMode="numeric"
        min={min}
        max={max}
        value={value}
        placeholder={placeholder}
        onInput={(event) => onChange(event.currentTarget.value)}
      />
      <span class="hint">{words === '' ? hint : words}</span>
    </label>
  )
}

const UNITS: readonly (readonly [size: number, show: (count: number) => string])[] = [
  [86_400, (count) => sayCount(count, '{count} day', '{count} days')],
  [3600, (count) => sayCount(count, '{count} hour', '{count} hours')],
  [60, (count) => sayCount(count, '{count} minute', '{count} minutes')],
  [1, (count) => sayCount(count, '{count} second', '{count} seconds')],
]

/** `30 days`, `90 seconds`: in the largest unit that fits without a rest. */
export function formatSpan(seconds: number): string {
  if (!Number.isInteger(seconds) || seconds < 1) return ''
  for (const [size, show] of UNITS) {
    const count = seconds / size
    if (Number.isInteger(count)) return show(count)
  }
  return ''
}
