import { element, icon } from './docs-elements.ts'

interface Part {
  readonly text: string
  readonly isHit?: true
}

interface Found {
  readonly url: string
  readonly page: string
  readonly title: readonly Part[]
  readonly excerpt: readonly Part[]
}

const LENS = 'M14.5 9a5.5 5.5 0 1 1-11 0 5.5 5.5 0 0 1 11 0m-1.3 4.2 3.8 3.8'

const marked = (parts: readonly Part[]): readonly (Node | string)[] =>
  parts.map(({ text, isHit }) => (isHit ? element('mark', {}, text) : text))

function toOption({ url, page, title, excerpt }: Found, i: number): HTMLLIElement {
  const link = element(
    'a',
    { class: 'result', href: url, tabindex: '-1' },
    element('b', {}, ...marked(title)),
    element('small', {}, page),
    element('p', {}, ...marked(excerpt)),
  )
  return element('li', { role: 'option', id: `result-${i}`, 'aria-selected': 'false' }, link)
}

/** The search: a dialog with results as the reader types. Without it there is a form. */
export function addSearch(): void {
  const form = document.querySelector<HTMLFormElement>('.top form.search')
  if (form === null || typeof HTMLDialogElement === 'undefined') return
  const isApple = /Mac|iPhone|iPad/.test(navigator.platform)
  const opener = element(
    'button',
    { class: 'search', type: 'button', 'aria-haspopup': 'dialog', 'aria-keyshortcuts': '/ Control+K Meta+K' },
    icon(LENS),
    'Search the docs',
    element('kbd', { 'aria-hidden': 'true' }, isApple ? '⌘K' : 'Ctrl K'),
  )
  form.replaceWith(opener)
  const input = element('input', {
    type: 'search',
    role: 'combobox',
    'aria-label': 'Search the docs',
    'aria-expanded': 'false',
    'aria-controls': 'search-results',
    'aria-autocomplete': 'list',
    placeholder: 'Search guides, endpoints, errors …',
    maxlength: '100',
    autocomplete: 'off',
    spellcheck: 'false',
    autofocus: '',
  })
  const list = element('ul', {
    class: 'results',
    id: 'search-results',
    role: 'listbox',
    'aria-label': 'Results',
  })
  const state = element('p', { class: 'search-state', role: 'status' })
  const close = element('button', { class: 'copy', type: 'button' }, 'Close')
  const dialog = element(
    'dialog',
    { class: 'search-dialog', 'aria-label': 'Search the docs' },
    element('div', { class: 'search-field' }, icon(LENS), input, close),
    state,
    list,
  )
  document.body.append(dialog)
  list.hidden = true

  let selected = -1
  const select = (i: number) => {
    const options = [...list.children]
    selected = options.length === 0 ? -1 : (i + options.length) % options.length
    for (const [at, option] of options.entries())
      option.setAttribute('aria-selected', String(at === selected))
    const option = options[selected]
    if (option === undefined) input.removeAttribute('aria-activedescendant')
    else {
      input.setAttribute('aria-activedescendant', option.id)
      option.scrollIntoView({ block: 'nearest' })
    }
  }
  const show = (found: readonly Found[], said: string) => {
    list.replaceChildren(...found.map(toOption))
    list.hidden = found.length === 0
    input.setAttribute('aria-expanded', String(found.length > 0))
    state.textContent = said
    select(0)
  }
  let running: AbortController | undefined
  const search = async () => {
    running?.abort()
    const query = input.value.trim()
    if (query === '') {
      show([], '')
      return
    }
    const mine = new AbortController()
    running = mine
    try {
      const response = await fetch(`/docs/search?q=${encodeURIComponent(query)}`, {
        headers: { accept: 'application/json' },
        signal: mine.signal,
      })
      if (!response.ok) throw new Error(String(response.status))
      const { results } = (await response.json()) as { results: readonly Found[] }
      if (mine.signal.aborted) return
      show(results, results.length === 0 ? `No results for “${query}”. Use fewer or other words.` : '')
    } catch {
      if (!mine.signal.aborted) show([], 'The search did not answer. Try again.')
    }
  }
  let waiting: ReturnType<typeof setTimeout> | undefined
  input.addEventListener('input', () => {
    clearTimeout(waiting)
    waiting = setTimeout(search, 80)
  })
  input.addEventListener('keydown', (event) => {
    if (event.key === 'ArrowDown') select(selected + 1)
    else if (event.key === 'ArrowUp') select(selected - 1)
    else if (event.key === 'Enter') {
      const link = list.children[selected]?.querySelector('a')
      if (link) link.click()
      else if (input.value.trim() !== '') location.assign(`/docs/search?q=${encodeURIComponent(input.value)}`)
    } else return
    event.preventDefault()
  })
  // A result on the page itself only moves it.
  list.addEventListener('click', () => dialog.close())
  close.addEventListener('click', () => dialog.close())
  dialog.addEventListener('click', (event) => {
    if (event.target === dialog) dialog.close()
  })
  const open = () => {
    if (dialog.open) return
    dialog.showModal()
    input.select()
  }
  opener.addEventListener('click', open)
  document.querySelector('.search-link')?.addEventListener('click', (event) => {
    event.preventDefault()
    open()
  })
  document.addEventListener('keydown', (event) => {
    const isTyping =
      event.target instanceof Element && event.target.closest('input, textarea, select') !== null
    const isCommand = (event.metaKey || event.ctrlKey) && event.key.toLowerCase() === 'k'
    if (!isCommand && (event.key !== '/' || isTyping || event.metaKey || event.ctrlKey || event.altKey))
      return
    event.preventDefault()
    open()
  })
}
