/** Who looks at a page. */
export type Visitor =
  | { readonly kind: 'anonymous' }
  | {
      readonly kind: 'member'
      readonly ppid: string
      readonly scope: readonly string[]
      readonly until: string
    }
  | { readonly kind: 'ended'; readonly code: string; readonly detail: string }

/** The one page of the site: in, out, or out again. */
export function homePage(siteId: string, visitor: Visitor): string {
  if (visitor.kind === 'member') {
    return page(
      'You are in',
      `<p>${text(siteId)} knows you as <code id="ppid">${text(visitor.ppid)}</code>, a name that only this site has for you.</p>
<p>You may: ${text(visitor.scope.join(', '))}. Until: ${text(visitor.until)}.</p>
<form method="post" action="/sign-out"><button>Sign out</button></form>
<script type="module" src="/page.js"></script>`,
    )
  }
  const why =
    visitor.kind === 'ended'
      ? `<p id="ended" role="alert">Your access has ended: <code>${text(visitor.code)}</code></p>`
      : ''
  return page(
    'Orders',
    `${why}<p>This part is for people who can show a credential for ${text(siteId)}.</p><p><a href="/sign-in">Sign in</a></p>`,
  )
}

export function problemPage(what: string): string {
  return page('That did not work', `<p id="problem">${text(what)}</p><p><a href="/">Start again</a></p>`)
}

function page(title: string, content: string): string {
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark"><title>${title}</title></head>
<body><main><h1>${title}</h1>
${content}
</main></body>
</html>
`
}

function text(value: string): string {
  return value.replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}
