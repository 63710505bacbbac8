import type { JSX } from 'preact'
import { copyText } from './copy.tsx'
import { Icon } from './icon.tsx'

/** An id in short form. The whole one is its title and is copied by the button. */
export function Id({
  value,
  copy = false,
}: {
  readonly value: string
  readonly copy?: boolean
}): JSX.Element {
  return (
    <span class="id">
      <code title={value}>{shorten(value)}</code>
      {copy && (
        <button
          type="button"
          class="quiet small"
          aria-label={`Copy ${value}`}
          onClick={() => copyText(value)}
        >
          <Icon name="copy" size={14} />
        </button>
      )}
    </span>
  )
}

/** `did:service:ppid_7h2k…9xqa`: the beginning that names the kind, and the end that differs. */
export function shorten(value: string): string {
  const name = value.replace(/^did:service:/, '')
  return name.length <= 20 ? name : `${name.slice(0, name.indexOf('_') + 5)}…${name.slice(-4)}`
}
