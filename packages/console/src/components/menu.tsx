import type { ComponentChildren, JSX } from 'preact'
import { useId, useRef } from 'preact/hooks'
import { isRightToLeft } from '../say.ts'

export interface MenuItem {
  readonly title: string
  readonly isDanger?: boolean
  run(): void
}

interface MenuProps {
  readonly label: ComponentChildren
  /** For a button whose content is a picture only. */
  readonly name?: string
  readonly items: readonly MenuItem[]
  readonly class?: string
}

const GAP = 4
const EDGE = 8

/** A button with a short menu. Esc and a click elsewhere close it, and the focus returns. */
export function Menu({ label, name, items, class: className = '' }: MenuProps): JSX.Element | null {
  const id = useId()
  const button = useRef<HTMLButtonElement>(null)
  const menu = useRef<HTMLDivElement>(null)
  if (items.length === 0) return null

  /** Scrolling tables would cut the menu off, so it lies above them, beside its button. */
  const place = () => {
    if (button.current === null || menu.current === null) return
    const at = button.current.getBoundingClientRect()
    const { offsetWidth: width, offsetHeight: height } = menu.current
    const below = at.bottom + GAP
    const top = below + height > innerHeight - EDGE ? at.top - GAP - height : below
    const left = Math.min(isRightToLeft ? at.left : at.right - width, innerWidth - width - EDGE)
    menu.current.style.setProperty('top', `${Math.max(EDGE, top)}px`)
    menu.current.style.setProperty('left', `${Math.max(EDGE, left)}px`)
  }
  const onKey = (event: KeyboardEvent) => {
    const by = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0
    if (by === 0) return
    event.preventDefault()
    const all = [...(menu.current?.querySelectorAll('button') ?? [])]
    const now = all.indexOf(document.activeElement as HTMLButtonElement)
    all[(now + by + all.length) % all.length]?.focus()
  }
  return (
    <>
      <button
        ref={button}
        type="button"
        class={className}
        popovertarget={id}
        aria-haspopup="menu"
        aria-label={name}
      >
        {label}
      </button>
      <div
        ref={menu}
        id={id}
        class="popup"
        popover="auto"
        role="menu"
        tabIndex={-1}
        onKeyDown={onKey}
        onToggle={(event) => {
          if (event.newState !== 'open') return
          place()
          menu.current?.querySelector('button')?.focus()
        }}
      >
        {items.map(({ title, isDanger = false, run }) => (
          <button
            key={title}
            type="button"
            role="menuitem"
            class={isDanger ? 'danger' : ''}
            onClick={() => {
              menu.current?.hidePopover()
              run()
            }}
          >
            {title}
          </button>
        ))}
      </div>
    </>
  )
}
