import type { ComponentChildren, JSX } from 'preact'

const TOKEN = /("(?:[^"\\]|\\.)*")(\s*:)?|(-?\d+(?:\.\d+)?(?:e[+-]?\d+)?|true|false|null)/gi

/** JSON with colours for names, texts and numbers. Everything in it is text. */
export function JsonView({ value }: { readonly value: unknown }): JSX.Element {
  const text = JSON.stringify(value, undefined, 2)
  const parts: ComponentChildren[] = []
  let end = 0
  for (const match of text.matchAll(TOKEN)) {
    const [all, string, colon = '', other] = match
    parts.push(text.slice(end, match.index))
    const kind = other !== undefined ? 'n' : colon === '' ? 's' : 'k'
    parts.push(
      <span key={match.index} class={kind}>
        {string ?? other}
      </span>,
      colon,
    )
    end = match.index + all.length
  }
  parts.push(text.slice(end))
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard.
    <pre class="code" tabIndex={0}>
      {parts}
    </pre>
  )
}
