import { signal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { mayRevoke } from '../api/session.ts'
import { startRevoke } from '../revoke/state.ts'
import { open, place, sitePath } from '../router.ts'

export const paletteOpen = signal(false)

interface Action {
  readonly title: string
  readonly hint: string
  run(): void
}

const PAGES = [
  'overview',
  'users',
  'credentials',
  'tokens',
  'verifiers',
  'receipts',
  'drills',
  'log',
  'inspector',
  'issuers',
  'keys',
  'webhooks',
  'audit',
]

/** What fits the typed text, the most likely first: Enter takes that. */
function findActions(text: string, siteId: string): readonly Action[] {
  const typed = text.trim()
  const pages = PAGES.filter((page) => page.startsWith(typed.toLowerCase())).map((page) => ({
    title: page[0]?.toUpperCase() + page.slice(1),
    hint: 'Page',
    run: () => open(sitePath(siteId, page)),
  }))
  if (typed === '') return pages
  const found: Action[] = []
  if (typed.startsWith('cred_'))
    found.push({
      title: typed,
      hint: 'Open the credential',
      run: () => open(sitePath(siteId, 'credentials', typed)),
    })
  if (/^(did:service:)?ppid_/.test(typed)) {
    const ppid = typed.startsWith('did:') ? typed : `did:service:${typed}`
    found.push({ title: typed, hint: 'Open the user', run: () => open(sitePath(siteId, 'users', ppid)) })
  }
  const revoking = mayRevoke(siteId)
    ? [
        {
          title: `Revoke ${typed}`,
          hint: 'Shows what it will end first',
          run: () => startRevoke(siteId, typed),
        },
      ]
    : []
  return [
    ...found,
    ...(pages.length > 0 && found.length === 0 ? [...pages, ...revoking] : [...revoking, ...pages]),
  ]
}

export function Palette(): JSX.Element | null {
  const dialog = useRef<HTMLDialogElement>(null)
  const [text, setText] = useState('')
  const [chosen, setChosen] = useState(0)
  const { siteId } = place.value
  const isOpen = paletteOpen.value && siteId !== undefined
  useEffect(() => {
    if (isOpen) {
      setText('')
      setChosen(0)
      dialog.current?.showModal()
    } else dialog.current?.close()
  }, [isOpen])
  const actions = siteId === undefined ? [] : findActions(text, siteId)
  const run = (action: Action | undefined) => {
    paletteOpen.value = false
    action?.run()
  }
  return (
    <dialog ref={dialog} class="palette" aria-label="Search" onClose={() => (paletteOpen.value = false)}>
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
          aria-label="User name, id, page or action"
          placeholder="User name, id, page or action"
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
            setChosen((chosen + by + actions.length) % actions.length)
          }}
        />
      </form>
      <div id="palette-list" class="results" role="listbox" aria-label="Results">
        {actions.map((action, i) => (
          <div
            key={action.title}
            id={`palette-${i}`}
            role="option"
            tabIndex={-1}
            aria-selected={i === chosen}
            onClick={() => run(action)}
            onKeyDown={() => {}}
          >
            <span>{action.title}</span>
            <span class="meta">{action.hint}</span>
          </div>
        ))}
      </div>
    </dialog>
  )
}
