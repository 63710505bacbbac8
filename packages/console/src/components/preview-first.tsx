import type { JSX } from 'preact'
import { say } from '../say.ts'
import { Icon } from './icon.tsx'

/** After an Enter that came before the preview: no access ends unseen, so it is asked for again. */
export function PreviewFirst({ isLoading }: { readonly isLoading: boolean }): JSX.Element {
  return (
    <p class="notice" role="status">
      <Icon name="audit" />
      {isLoading ? (
        <span>
          <strong>{say('The preview is still loading.')}</strong> {say('Nothing was sent.')}
        </span>
      ) : (
        <span>
          <strong>{say('The preview has loaded.')}</strong>{' '}
          {say('Nothing was sent. Read what this ends, then confirm again.')}
        </span>
      )}
    </p>
  )
}

/** A key that is held down would confirm what appeared only just now. */
export function dropHeldEnter(event: KeyboardEvent): void {
  if (event.key === 'Enter' && event.repeat) event.preventDefault()
}
