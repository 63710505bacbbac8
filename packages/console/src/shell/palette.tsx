import type { JSX } from 'preact'
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { mayRevoke } from '../api/session.ts'
import { showNotice } from '../components/notice.ts'
import { nearSite, paletteOpen, shortcuts } from '../keyboard.ts'
import { describe, resolveUser, startRevoke } from '../revoke/state.ts'
import { open, sitePath } from '../router.ts'
import { say } from '../say.ts'

interface Action {
  readonly id: string
  readonly title: string
  readonly hint: string
  readonly keys?: readonly string[]
  run(): void
}

/** The user page of a name. The name is sent in a body and is in no address. */
async function openUser(siteId: string, text: string): Promise<void> {
  try {
    open(sitePath(siteId, 'users', (await resolveUser(siteId, text)).id))
  } catch (fault) {
    showNotice(describe(fault))
  }
}

const ID = /^(?:cred_|tok_|(?:did:service:)?ppid_)/

/** What fits the typed text, the most likely first: Enter takes that. */
function findActions(text: string, siteId: string): readonly Action[] {
  const typed = text.trim()
  const word = typed.toLowerCase()
  const known = shortcuts
    .filter((each) => each.isAction === true && each.isAllowed?.() !== false)
    .filter(({ title, id }) => title.toLowerCase().startsWith(word) || id.startsWith(word))
    .map(({ id, title, keys, group, run }) => ({
      id,
      title,
      keys,
      hint: group === 'pages' ? say('Page') : say('Action'),
      run: () => run?.(),
    }))
  if (typed === '' || siteId === '') return known
  const found: Action[] = []
  if (typed.startsWith('cred_'))
    found.push({
      id: 'open',
      title: typed,
      hint: say('Open the credential'),
      run: () => open(sitePath(siteId, 'credentials', typed)),
    })
  else if (/^\d{1,15}$/.test(typed))
    found.push({
      id: 'receipt',
      title: say('Receipt {typed}', { typed }),
      hint: say('Open the receipt of this entry'),
      run: () => open(sitePath(siteId, 'receipts', typed)),
    })
  else if (!typed.startsWith('tok_'))
    found.push({
      id: 'user',
      title: typed,
      hint: say('Open the user'),
      run: () => void openUser(siteId, typed),
    })
  const revoking: readonly Action[] = mayRevoke(siteId)
    ? [
        {
          id: 'revoke-typed',
          title: say('Revoke {typed}', { typed }),
          hint: say('Shows what it ends first'),
          run: () => startRevoke(siteId, typed),
        },
      ]
    : []
  // A word that begins like a page means the page. An id is looked at. A name is revoked.
  if (known.length > 0) return [...known, ...revoking, ...found]
  return ID.test(typed) && !typed.startsWith('tok_') ? [...found, ...revoking] : [...revoking, ...found]
}

export function Palette(): JSX.Element | null {
  const dialog = useRef<HTMLDialogElement>(null)
  const [text, setText] = useState('')
  const [chosen, setChosen] = useState(0)
  const siteId = nearSite.value ?? ''
  const isOpen = paletteOpen.value
  // Before the next key: what is typed at once belongs to the palette.
  useLayoutEffect(() => {
    if (isOpen) {
      setText('')
      setChosen(0)
      dialog.current?.showModal()
    } else dialog.current?.close()
  }, [isOpen])
  const actions = findActions(text, siteId)
  const run = (action: Action | undefined) => {
    if (action === undefined) return
    // Closed first: what opens next returns the focus to where it was before the palette.
    dialog.current?.close()
    paletteOpen.value = false
    action.run()
  }
  return (
    <dialog
      ref={dialog}
      class="palette"
      aria-label={say('Search')}
      onClose={() => (paletteOpen.value = false)}
    >
      <form
        onSubmit={(event) => {
          event.preventDefault()
          run(actions[chosen])
        }}
      >
        <input
          role="combobox"
          aria-expanded="true"
          aria-controls="palette-list"
          aria-activedescendant={actions.length === 0 ? undefined : `palette-${chosen}`}
          aria-label={say('User name, id, page or action')}
          placeholder={say('User name, id, page or action')}
          spellcheck={false}
          autocomplete="off"
          maxLength={256}
          value={text}
          onInput={(event) => {
            setText(event.currentTarget.value)
            setChosen(0)
          }}
          onKeyDown={(event) => {
            const by = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0
            if (by === 0 || actions.length === 0) return
            event.preventDefault()
            const next = (chosen + by + actions.length) % actions.length
            setChosen(next)
            document.getElementById(`palette-${next}`)?.scrollIntoView({ block: 'nearest' })
          }}
        />
      </form>
      <div id="palette-list" class="results" role="listbox" aria-label={say('Results')}>
        {actions.map((action, i) => (
          <div
            key={action.id}
            id={`palette-${i}`}
            role="option"
            tabIndex={-1}
            aria-selected={i === chosen}
            onClick={() => run(action)}
            onKeyDown={() => {}}
          >
            <span>{action.title}</span>
            <span class="meta">
              {action.hint}
              {action.keys?.map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </span>
          </div>
        ))}
      </div>
    </dialog>
  )
}
