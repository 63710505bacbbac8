import type { JSX } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { Icon } from '../components/icon.tsx'
import { hasSingleKeys, helpOpen, type Shortcut, setSingleKeys, shortcuts } from '../keyboard.ts'
import { say } from '../say.ts'

const GROUPS: readonly (readonly [group: Shortcut['group'], title: string])[] = [
  ['everywhere', say('Everywhere')],
  ['lists', say('In lists')],
  ['pages', say('Go to')],
]

/** All shortcuts of the console, and the switch for those that are single letters. */
export function Help(): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null)
  const isOpen = helpOpen.value
  useEffect(() => {
    if (isOpen) dialog.current?.showModal()
    else dialog.current?.close()
  }, [isOpen])
  const close = () => {
    helpOpen.value = false
  }
  return (
    <dialog ref={dialog} class="help" aria-labelledby="help-title" onClose={close}>
      <header>
        <h2 id="help-title">{say('Keyboard shortcuts')}</h2>
        <button type="button" class="icon-button" aria-label={say('Close')} onClick={close}>
          <Icon name="close" />
        </button>
      </header>
      {isOpen && (
        <div class="shortcut-groups">
          {GROUPS.map(([group, title]) => (
            <section key={group}>
              <h3>{title}</h3>
              <dl>
                {shortcuts
                  .filter((each) => each.group === group && each.isAllowed?.() !== false)
                  .map(({ id, title, keys }) => (
                    <div key={id}>
                      <dt>{title}</dt>
                      <dd>
                        {keys.map((key) => (
                          <kbd key={key}>{key}</kbd>
                        ))}
                      </dd>
                    </div>
                  ))}
              </dl>
            </section>
          ))}
        </div>
      )}
      <footer>
        <label class="switch">
          <input
            type="checkbox"
            checked={hasSingleKeys.value}
            onChange={(event) => setSingleKeys(event.currentTarget.checked)}
          />
          {say('Shortcuts that are single letters')}
        </label>
      </footer>
    </dialog>
  )
}
