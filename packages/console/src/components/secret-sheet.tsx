import type { ComponentChildren, JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { say } from '../say.ts'
import { Sheet } from './act-sheet.tsx'
import { copyText } from './copy.tsx'
import { Icon } from './icon.tsx'

interface SecretSheetProps {
  readonly title: string
  readonly secret: string
  readonly children?: ComponentChildren
  readonly onClose: () => void
}

const SHOWN_SECONDS = 60

/** Shows a secret once. It is removed from the page after a minute, or when it is closed. */
export function SecretSheet({ title, secret, children, onClose }: SecretSheetProps): JSX.Element {
  const [left, setLeft] = useState(SHOWN_SECONDS)
  useEffect(() => {
    const endsAt = performance.now() + SHOWN_SECONDS * 1000
    const timer = setInterval(() => {
      const seconds = Math.max(0, Math.ceil((endsAt - performance.now()) / 1000))
      setLeft(seconds)
      if (seconds === 0) clearInterval(timer)
    }, 250)
    return () => clearInterval(timer)
  }, [])
  return (
    <Sheet title={title} onClose={onClose}>
      <div class="body">
        {left > 0 ? (
          <>
            <p>
              {say('Store it now. {strong} and cannot be read again.', {
                strong: <strong>{say('It is shown only this once')}</strong>,
              })}
            </p>
            <div class="secret">
              <code>{secret}</code>
              <button type="button" data-first="" onClick={() => void copyText(secret)}>
                <Icon name="copy" />
                {say('Copy')}
              </button>
            </div>
            <p class="meta">{say('Hidden in {left} s.', { left })}</p>
          </>
        ) : (
          <p class="banner" role="status">
            <strong>{say('Hidden.')}</strong>{' '}
            {say('If it was not stored, create another one and delete this one.')}
          </p>
        )}
        {children}
      </div>
      <footer>
        <span class="grow" />
        <button type="button" class="primary" onClick={onClose}>
          {say('I have stored it')}
        </button>
      </footer>
    </Sheet>
  )
}
