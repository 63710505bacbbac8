import { parseProblemCode, permissions } from '@countersign/core/contract'
import { type Html, html } from '../pages/html.ts'

/** Names of members, headers, permissions and codes, as they occur in sentences. */
const NAME =
  /(\bX-[A-Z][\w-]*\w|\b[a-z]+(?:_[a-z0-9]+)+\b|\bppid\b|\b(?:svc|cred|ppid|whsec)_\w*…?|\b(?:Retry-After|Idempotency-Key|Content-Type|Content-Digest|Last-Event-ID|WWW-Authenticate|Preference-Applied|Prefer: wait(?:=N)?)\b|\b[a-z]+:[a-z]+\b)/

/** A sentence, with names of the interface marked as code, and codes of problems linked. */
export function withCode(text: string): Html {
  const parts = text.split(NAME).map((part, i) => {
    if (i % 2 === 0) return html`${part}`
    const isName = !part.includes(':') || part.startsWith('Prefer') || isPermission(part)
    if (!isName) return html`${part}`
    const code = parseProblemCode(part)
    return code === undefined
      ? html`<code>${part}</code>`
      : html`<a href="/problems/${code}"><code>${code}</code></a>`
  })
  return html`${parts}`
}

const isPermission = (word: string): boolean => (permissions as readonly string[]).includes(word)
