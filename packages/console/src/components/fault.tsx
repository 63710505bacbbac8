import type { JSX } from 'preact'
import { say } from '../say.ts'

interface FaultProps {
  readonly text: string | undefined
  /** For something that failed to load. */
  readonly onRetry?: () => void
}

/** What went wrong, said at once by screen readers. Nothing without a text. */
export function Fault({ text, onRetry }: FaultProps): JSX.Element | null {
  return text === undefined ? null : (
    <p class="fault" role="alert">
      <bdi>{text}</bdi>
      {onRetry !== undefined && (
        <button type="button" onClick={onRetry}>
          {say('Try again')}
        </button>
      )}
    </p>
  )
}
