import type { JSX } from 'preact'
import { useEffect } from 'preact/hooks'
import { loadDoors, toTypedCommand } from '../api/doors.ts'
import { say } from '../say.ts'
import { Icon } from './icon.tsx'
import { showNotice } from './notice.ts'

export async function copyText(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text)
    showNotice(say('Copied'), 2500)
  } catch {
    showNotice(say('This browser does not allow copying. Select the text instead.'))
  }
}

/** A command in an empty state. */
export function Command({ text }: { readonly text: string }): JSX.Element {
  useEffect(loadDoors, [])
  const typed = toTypedCommand(text)
  return (
    <div class="command">
      <code>{typed}</code>
      <button
        type="button"
        class="quiet small"
        aria-label={say('Copy the command')}
        onClick={() => copyText(typed)}
      >
        <Icon name="copy" size={14} />
      </button>
    </div>
  )
}
