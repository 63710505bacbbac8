/**
 * The pages of the documentation: buttons to copy, the search dialog, and the mark in "On this
 * page". Everything else works without this script.
 */
import { element, icon } from './docs-elements.ts'
import { addSearch } from './docs-search.ts'

const COPY =
  'M7 9a2 2 0 0 1 2-2h5.5a2 2 0 0 1 2 2v5.5a2 2 0 0 1-2 2H9a2 2 0 0 1-2-2ZM13 7V5.5a2 2 0 0 0-2-2H5.5a2 2 0 0 0-2 2V11a2 2 0 0 0 2 2H7'
const DONE = 'm4.5 10.5 3.5 3.5 7.5-8'

/** Copies the code without its response. */
function addCopyButtons(): void {
  if (navigator.clipboard === undefined) return
  const said = element('p', { class: 'hidden-text', role: 'status' })
  document.body.append(said)
  for (const head of document.querySelectorAll('.code-head')) {
    const word = element('span', {}, 'Copy')
    const button = element('button', { class: 'copy', type: 'button' }, icon(COPY), word)
    button.addEventListener('click', async () => {
      const code = head.parentElement?.querySelector('pre code')?.textContent ?? ''
      const isCopied = await navigator.clipboard.writeText(code).then(
        () => true,
        () => false,
      )
      word.textContent = isCopied ? 'Copied' : 'Not copied'
      said.textContent = isCopied ? 'Copied' : 'The browser did not allow copying.'
      button.querySelector('svg')?.replaceWith(icon(isCopied ? DONE : COPY))
      setTimeout(() => {
        word.textContent = 'Copy'
        said.textContent = ''
        button.querySelector('svg')?.replaceWith(icon(COPY))
      }, 2000)
    })
    head.append(button)
  }
}

/** Code and tables that fit need no stop for the keyboard. */
function watchScrolling(): void {
  const watched = new ResizeObserver((entries) => {
    for (const { target } of entries)
      if (target.scrollWidth > target.clientWidth || target.scrollHeight > target.clientHeight)
        target.setAttribute('tabindex', '0')
      else target.removeAttribute('tabindex')
  })
  for (const one of document.querySelectorAll('main pre, .scroll')) watched.observe(one)
}

/** Marks the section that is being read. */
function watchHeadings(): void {
  const links = new Map(
    [...document.querySelectorAll<HTMLAnchorElement>('.toc li a')].map((link) => [link.hash.slice(1), link]),
  )
  const headings = [...links.keys()].map((id) => document.getElementById(decodeURIComponent(id)))
  const mark = () => {
    let current = headings[0]
    for (const heading of headings)
      if (heading && heading.getBoundingClientRect().top < 140) current = heading
    for (const [id, link] of links) {
      if (decodeURIComponent(id) === current?.id) link.setAttribute('aria-current', 'true')
      else link.removeAttribute('aria-current')
    }
  }
  let isWaiting = false
  const soon = () => {
    if (isWaiting) return
    isWaiting = true
    requestAnimationFrame(() => {
      isWaiting = false
      mark()
    })
  }
  if (links.size === 0) return
  document.addEventListener('scroll', soon, { passive: true })
  mark()
}

addCopyButtons()
addSearch()
watchScrolling()
watchHeadings()
// Not by scrollIntoView: in Chromium 150 the next Tab would start at that element.
const side = document.querySelector<HTMLElement>('.side')
const current = side?.querySelector('[aria-current]')
if (side && current) {
  const below = current.getBoundingClientRect().bottom - side.getBoundingClientRect().bottom
  if (below > 0) side.scrollTop += below
}
