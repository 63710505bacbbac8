import { computed, signal } from '@preact/signals'
import { isOperator, mayRevoke, sites } from './api/session.ts'
import { isPaused } from './live.ts'
import { openRevoke } from './revoke/state.ts'
import { open, place, servicePath, sitePath } from './router.ts'
import { say } from './say.ts'

/** The site that was open last. */
export const lastSite = signal<string | undefined>(undefined)
/** The site whose pages and users stay in reach on the pages of the service. */
export const nearSite = computed(() => place.value.siteId ?? lastSite.value ?? sites.value[0]?.site_id)

export const paletteOpen = signal(false)
export const helpOpen = signal(false)
/** The pages on narrow screens. */
export const menuOpen = signal(false)

/** One key or two keys after each other. None of them changes anything by itself. */
export interface Shortcut {
  readonly id: string
  readonly keys: readonly string[]
  readonly title: string
  readonly group: 'everywhere' | 'lists' | 'pages'
  /** Offered in the palette, too. */
  readonly isAction?: boolean
  isAllowed?(): boolean
  /** Keys of the browser itself have none. */
  run?(): void
}

const PAGE_KEYS: readonly (readonly [key: string, page: string, title: string])[] = [
  ['o', 'overview', say('Overview')],
  ['u', 'users', say('Users')],
  ['c', 'credentials', say('Credentials')],
  ['t', 'tokens', say('Tokens')],
  ['v', 'verifiers', say('Verifiers')],
  ['r', 'receipts', say('Receipts')],
  ['d', 'drills', say('Drills')],
  ['l', 'log', say('Log')],
  ['x', 'inspector', say('Inspector')],
  ['i', 'issuers', say('Issuers and keys')],
  ['k', 'keys', say('API keys')],
  ['w', 'webhooks', say('Webhooks')],
  ['s', 'site', say('Site settings')],
  ['a', 'audit', say('Audit')],
  ['n', 'nodes', say('Nodes')],
  [',', 'settings', say('Settings')],
]

/** Pages of the whole service. The others are of a site. */
const SERVICE_PAGES: readonly string[] = ['nodes', 'settings']

function goTo([key, page, title]: (typeof PAGE_KEYS)[number]): Shortcut {
  const isOfService = SERVICE_PAGES.includes(page)
  return {
    id: page,
    keys: ['g', key],
    title,
    group: 'pages',
    isAction: true,
    isAllowed: () => (isOfService ? page === 'settings' || isOperator.value : nearSite.value !== undefined),
    run() {
      const siteId = nearSite.value
      if (isOfService) open(servicePath(page))
      else if (siteId !== undefined) open(sitePath(siteId, page))
    },
  }
}

/** The one list of shortcuts: it feeds the keys, the help, the palette and the tooltips. */
export const shortcuts: readonly Shortcut[] = [
  {
    id: 'search',
    keys: ['Ctrl K'],
    title: say('Search users, ids, pages and actions'),
    group: 'everywhere',
    run: () => (paletteOpen.value = true),
  },
  {
    id: 'filter',
    keys: ['/'],
    title: say('Filter this list, or search'),
    group: 'everywhere',
    run() {
      const filter = document.querySelector<HTMLElement>('main input[type="search"]')
      if (filter === null) paletteOpen.value = true
      // Only one that is not folded away takes the focus.
      else {
        filter.closest('details')?.setAttribute('open', '')
        filter.focus()
      }
    },
  },
  {
    id: 'revoke',
    keys: ['r'],
    title: say('Revoke access'),
    group: 'everywhere',
    isAction: true,
    isAllowed: () => mayRevoke(place.value.siteId),
    run() {
      const button =
        findRow()?.querySelector<HTMLElement>('[data-revoke]') ?? findOnPage('[data-revoke-page]')
      const { siteId } = place.value
      if (button !== undefined) button.click()
      else if (siteId !== undefined) openRevoke(siteId, '')
    },
  },
  {
    id: 'pause',
    keys: ['p'],
    title: say('Pause or continue live updates'),
    group: 'everywhere',
    isAction: true,
    run: () => (isPaused.value = !isPaused.value),
  },
  {
    id: 'help',
    keys: ['?'],
    title: say('Show the keyboard shortcuts'),
    group: 'everywhere',
    isAction: true,
    run: () => (helpOpen.value = true),
  },
  { id: 'close', keys: ['Esc'], title: say('Close, and return to where you were'), group: 'everywhere' },
  { id: 'next', keys: ['j'], title: say('Next row'), group: 'lists', run: () => moveRow(1) },
  { id: 'previous', keys: ['k'], title: say('Previous row'), group: 'lists', run: () => moveRow(-1) },
  { id: 'open', keys: ['Enter'], title: say('Open the row'), group: 'lists' },
  {
    id: 'select',
    keys: ['x'],
    title: say('Select the row'),
    group: 'lists',
    run: () => findRow()?.querySelector<HTMLElement>('input[type="checkbox"]')?.click(),
  },
  ...PAGE_KEYS.map(goTo),
]

/** For `title` of a button: what it does, and its key. */
export function toTooltip(id: string): string {
  const found = shortcuts.find((each) => each.id === id)
  if (found === undefined) return ''
  const [first = '', second] = found.keys
  const keys = second === undefined ? first : say('{first} then {second}', { first, second })
  return `${found.title} (${keys})`
}

const STORED = 'countersign.single-keys'
/** Keys without Ctrl can be switched off: software for speech input types letters. */
export const hasSingleKeys = signal(readStored() !== 'off')

function readStored(): string | null {
  try {
    return localStorage.getItem(STORED)
  } catch {
    return null
  }
}

export function setSingleKeys(isOn: boolean): void {
  hasSingleKeys.value = isOn
  try {
    localStorage.setItem(STORED, isOn ? 'on' : 'off')
  } catch {
    // It holds until the page is closed.
  }
}

function findOnPage(selector: string): HTMLElement | undefined {
  return document.querySelector<HTMLElement>(`main ${selector}`) ?? undefined
}

/** The row that has the focus. */
function findRow(): HTMLElement | undefined {
  return document.activeElement?.closest<HTMLElement>('main tbody tr') ?? undefined
}

/** Moves the focus to the link of the next row, or to the row itself. */
function moveRow(by: number): void {
  const rows = [...document.querySelectorAll<HTMLElement>('main tbody tr')]
  if (rows.length === 0) return
  const row = findRow()
  const at = row === undefined ? (by > 0 ? -1 : 0) : rows.indexOf(row)
  const next = rows[Math.min(rows.length - 1, Math.max(0, at + by))]
  if (next === undefined) return
  const link = next.querySelector<HTMLElement>('a[href]')
  if (link === null) next.tabIndex = -1
  ;(link ?? next).focus()
  next.scrollIntoView({ block: 'nearest' })
}

const SEQUENCE_MS = 1500

/** The key, or the Latin one in its place on keyboards of other scripts, such as Arabic ones. */
function toLatin({ key, code, shiftKey }: KeyboardEvent): string {
  if (key.length > 1 || key < '\x80') return key
  if (code === 'Slash') return shiftKey ? '?' : '/'
  const [, letter] = /^Key(.)$/.exec(code) ?? []
  return letter === undefined ? key : shiftKey ? letter : letter.toLowerCase()
}

export function listenToKeys(): void {
  let first = ''
  let firstAtMs = -Infinity
  document.addEventListener('keydown', (event) => {
    const key = toLatin(event)
    const isModal = document.querySelector('dialog[open]') !== null
    if (key === 'Escape') menuOpen.value = false
    if (key.toLowerCase() === 'k' && (event.ctrlKey || event.metaKey)) {
      event.preventDefault()
      if (!isModal) paletteOpen.value = true
      return
    }
    const isTyping =
      event.target instanceof HTMLElement &&
      event.target.closest('input:not([type="checkbox"]), textarea, select, [contenteditable]') !== null
    if (isTyping || isModal || event.ctrlKey || event.metaKey || event.altKey || !hasSingleKeys.value) return
    const isSecond = first !== '' && performance.now() - firstAtMs < SEQUENCE_MS
    const keys = isSecond ? [first, key] : [key]
    first = ''
    const found = shortcuts.find(
      (each) =>
        each.keys.join(' ') === keys.join(' ') && each.run !== undefined && each.isAllowed?.() !== false,
    )
    if (found !== undefined) {
      event.preventDefault()
      found.run?.()
    } else if (!isSecond && shortcuts.some((each) => each.keys.length === 2 && each.keys[0] === key)) {
      first = key
      firstAtMs = performance.now()
    }
  })
}
