import type { JSX } from 'preact'
import { say } from '../say.ts'
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
          aria-label={say('Copy {value}', { value })}
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
  if (name.length <= 20) return name
  const kind = /^(?:[a-z]+_|did:[a-z]+:)/.exec(name)?.[0].length ?? 8
  return `${name.slice(0, kind + 4)}…${name.slice(-4)}`
}
