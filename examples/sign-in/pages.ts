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

/** Invented: the example has no database. */
const ORDERS = [
  { number: '1042', what: 'Two brass ship lamps', state: 'On its way', price: '€ 148.00' },
  { number: '1038', what: 'Chart of the North Sea, 1911', state: 'Delivered', price: '€ 62.50' },
  { number: '1017', what: 'Rope, 30 m', state: 'Delivered', price: '€ 24.90' },
] as const

/** The one page of the shop: signed in, signed out, or after access has ended. */
export function homePage(siteId: string, visitor: Visitor, isCancelled = false): string {
  if (visitor.kind === 'member') {
    const orders = ORDERS.map(
      ({ number, what, state, price }) =>
        `<li><span><b>${what}</b><small>Order ${number} · ${state}</small></span><span class="price">${price}</span></li>`,
    )
    return page(
      'Welcome back',
      `<div class="head"><h1>Welcome back</h1><form method="post" action="/sign-out"><button class="quiet">Sign out</button></form></div>
<h2>Your orders</h2>
<ul class="orders">${orders.join('')}</ul>
<details><summary>Developer details</summary>
<p>${text(siteId)} knows this person as <code id="ppid">${text(visitor.ppid)}</code>, an ID that only this site has.</p>
<p>Allowed: ${text(visitor.scope.join(', '))}. Valid until <time datetime="${text(visitor.until)}">${text(formatDay(visitor.until))}</time>.</p>
<p>End the access in the wallet: this page notices within seconds.</p></details>
<script type="module" src="/page.js"></script>`,
    )
  }
  const why =
    visitor.kind === 'ended'
      ? `<p id="ended" class="note" role="alert">Your access has ended. Ask the shop if you think this is a mistake. <small>Code: <code>${text(visitor.code)}</code></small></p>`
      : isCancelled
        ? '<p id="cancelled" class="note" role="status">You cancelled the sign-in. You can sign in whenever you like.</p>'
        : ''
  return page(
    'Blue Door Chandlery',
    `${why}<section class="hero"><h1>Everything for a small boat</h1>
<p>Lamps, charts and rope, sent from the harbor since 1974. Sign in to see your orders.</p>
<p><a class="countersign" href="/sign-in">Sign in</a></p></section>`,
  )
}

export function problemPage(what: string): string {
  return page(
    'Please sign in again',
    `<section class="hero"><h1>Please sign in again</h1><p id="problem">${text(what)}</p><p><a class="countersign" href="/">Start again</a></p></section>`,
  )
}

function page(title: string, content: string): string {
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark"><title>${title} · Blue Door Chandlery</title><link rel="icon" href="/logo.png"><link rel="stylesheet" href="/shop.css"></head>
<body><header><a href="/" class="brand"><img src="/logo.png" alt="" width="36" height="36">Blue Door Chandlery</a></header>
<main>
${content}
</main>
<footer>An example of Countersign. Nothing here is for sale.</footer></body>
</html>
`
}

/** The style sheet of the shop, with the button of the guide. */
export const STYLE = `:root { color-scheme: light dark; --ink: light-dark(#1b2430, #e8edf3); --soft: light-dark(#566373, #a5b1bf); --line: light-dark(#dde3ea, #2c3742); --card: light-dark(#fff, #18202a); --blue: light-dark(#1d4f91, #9cc3f5); }
* { box-sizing: border-box; }
body { margin: 0; background: light-dark(#f4f7fa, #10161d); color: var(--ink); font: 1rem/1.6 system-ui, sans-serif; }
header, main, footer { max-inline-size: 44rem; margin-inline: auto; padding-inline: 1rem; }
header { padding-block: 1rem; }
.brand { display: inline-flex; gap: .6rem; align-items: center; min-block-size: 2.75rem; color: var(--ink); font-weight: 650; text-decoration: none; }
.brand img { border-radius: 8px; }
.hero { padding-block: 12vh 3rem; }
.head { display: flex; flex-wrap: wrap; justify-content: space-between; align-items: center; gap: .5rem 1rem; padding-block-start: 1.5rem; }
h1 { font-size: clamp(1.75rem, 6vw, 2.5rem); line-height: 1.2; margin: 0; letter-spacing: -.015em; text-wrap: balance; }
h2 { font-size: 1rem; margin-block: 1.5rem .5rem; }
.hero p { max-inline-size: 34rem; color: var(--soft); }
.orders { margin: 0; padding: 0; list-style: none; background: var(--card); border: 1px solid var(--line); border-radius: 12px; }
.orders li { display: flex; justify-content: space-between; gap: 1rem; padding: .9rem 1rem; }
.orders li + li { border-block-start: 1px solid var(--line); }
small { display: block; color: var(--soft); }
.price { font-variant-numeric: tabular-nums; white-space: nowrap; }
.note { background: var(--card); border: 1px solid var(--line); border-radius: 12px; padding: .9rem 1rem; }
details { margin-block: 1.5rem; color: var(--soft); }
summary { cursor: pointer; min-block-size: 2.75rem; line-height: 2.75rem; }
code { overflow-wrap: anywhere; }
footer { padding-block: 3rem 2rem; color: var(--soft); font-size: .875rem; }
button.quiet { font: inherit; color: inherit; background: none; border: 1px solid light-dark(#75838f, #74838f); border-radius: 8px; min-block-size: 44px; padding-inline: 16px; cursor: pointer; }
.countersign { display: inline-flex; align-items: center; min-block-size: 44px; padding-inline: 18px; border-radius: 8px; font-weight: 600; color: #fff; background: #0a6448; text-decoration: none; }
:focus-visible { outline: 3px solid var(--blue); outline-offset: 2px; }
`

function formatDay(time: string): string {
  return new Intl.DateTimeFormat('en', { dateStyle: 'long', timeZone: 'UTC' }).format(new Date(time))
}

function text(value: string): string {
  return value.replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}
