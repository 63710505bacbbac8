/**
 * The look of the sign-in, wallet and error pages: quiet paper, deep green ink, one seal. Only
 * logical properties, so that it reads from right to left as well.
 */
export const hostedStyle = `:root {
  color-scheme: light dark;
  --ground: light-dark(#f6f8f6, #0f1412);
  --card: light-dark(#ffffff, #18201d);
  --sunken: light-dark(#eef2ef, #131a17);
  --ink: light-dark(#141c18, #e9efeb);
  --ink-2: light-dark(#4d5a53, #a9b6af);
  --line: light-dark(#dfe5e1, #29332e);
  --field: light-dark(#75837b, #74837b);
  --green: light-dark(#0a6448, #63d3a8);
  --green-hover: light-dark(#084f39, #7adfb8);
  --green-soft: light-dark(#e3f3ec, #14352a);
  --on-green: light-dark(#ffffff, #06251b);
  --red: light-dark(#9f1d1d, #ff9d94);
  --red-solid: light-dark(#b3261e, #ff9d94);
  --on-red: light-dark(#ffffff, #2b0806);
  --red-soft: light-dark(#fdecea, #3a1916);
  --amber: light-dark(#7a4b00, #f2c063);
  --amber-soft: light-dark(#fdf2dc, #35270c);
  --blue: light-dark(#1d4f91, #9cc3f5);
  --blue-soft: light-dark(#e8f0fa, #14263c);
  --accent: var(--green);
  --on-accent: var(--on-green);
  --shadow: 0 1px 2px rgb(0 0 0 / 6%), 0 8px 24px rgb(0 0 0 / 8%);
  --mono: ui-monospace, "SF Mono", SFMono-Regular, Menlo, Consolas, monospace;
}
*, *::before, *::after { box-sizing: border-box; }
[hidden] { display: none !important; }
html { -webkit-text-size-adjust: 100%; text-size-adjust: 100%; }
body { margin: 0; background: var(--ground); color: var(--ink); font: 1rem/1.6 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif; overflow-wrap: break-word; }
h1, h2, h3, p, ul, dl, dd { margin: 0; padding: 0; }
ul { list-style: none; }
h1 { font-size: 1.5rem; line-height: 1.33; font-weight: 650; letter-spacing: -.012em; text-wrap: balance; }
h1:focus, main:focus, #problem:focus, #notice:focus { outline: none; }
h2 { font-size: 1rem; line-height: 1.4; font-weight: 600; }
p { text-wrap: pretty; }
a { color: var(--green); text-underline-offset: 3px; text-decoration-thickness: 1px; }
code { font: .86em var(--mono); overflow-wrap: anywhere; }
:focus-visible { outline: 2px solid var(--green); outline-offset: 2px; border-radius: 4px; }
.hosted { display: flex; flex-direction: column; min-block-size: 100vh; min-block-size: 100dvh; }
main { inline-size: 100%; max-inline-size: 29.5rem; margin-inline: auto; padding: 1rem 1rem 1.5rem; flex: 1; }
.wallet main, .wallet .foot { max-inline-size: 40rem; }
.narrow { max-inline-size: 27.5rem; margin-inline: auto; }
.unseen { position: absolute; inline-size: 1px; block-size: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
.skip { position: absolute; inset-block-start: .5rem; inset-inline-start: .5rem; z-index: 9; padding: .5rem .9rem; background: var(--card); border-radius: 8px; transform: translateY(-300%); }
.skip:focus { transform: none; }
.meta, .hint { font-size: .875rem; line-height: 1.5; color: var(--ink-2); }
.center { text-align: center; }
.eyebrow { font-size: .875rem; color: var(--ink-2); }
.seal { flex: none; }
.seal-ground { fill: var(--green); }
.seal-ticks { fill: none; stroke: var(--on-green); stroke-width: 1.9; stroke-linecap: round; stroke-linejoin: round; }
.top { border-block-end: 1px solid var(--line); }
.top-in { display: flex; flex-wrap: wrap; align-items: center; justify-content: space-between; gap: 0 1rem; max-inline-size: 40rem; min-block-size: 3.5rem; margin-inline: auto; padding-inline: 1rem; }
.brand { display: inline-flex; align-items: center; gap: .6rem; min-block-size: 2.75rem; font-weight: 650; color: var(--ink); text-decoration: none; }
.top nav { display: flex; align-items: center; gap: 1.25rem; }
.top nav a, .foot a { display: inline-flex; align-items: center; min-block-size: 2.75rem; font-size: .875rem; color: var(--ink-2); text-decoration: none; }
.top nav a:hover, .foot a:hover { text-decoration: underline; }
#site-links { display: contents; }
.who { display: flex; align-items: center; gap: .75rem; padding-block: .25rem 1rem; min-inline-size: 0; }
.who > div { min-inline-size: 0; }
.who b { display: block; font-weight: 600; line-height: 1.4; overflow-wrap: anywhere; }
.monogram { display: grid; place-items: center; flex: none; inline-size: 2.75rem; block-size: 2.75rem; border-radius: 10px; background: #1f3a68; color: #fff; font-weight: 650; font-size: 1.05rem; }
.tone-1 { background: #6b3a12; } .tone-2 { background: #0d5a5f; } .tone-3 { background: #6a2c91; } .tone-4 { background: #8a1f4c; } .tone-5 { background: #3f4f14; }
.logo { flex: none; inline-size: 2.75rem; block-size: 2.75rem; border-radius: 10px; object-fit: contain; background: #fff; }
.verified { display: flex; flex-wrap: wrap; gap: 0 .4rem; font-size: .8125rem; line-height: 1.5; color: var(--ink-2); overflow-wrap: anywhere; }
.verified > bdi { min-inline-size: 0; }
.tick { color: var(--green); font-weight: 600; white-space: nowrap; }
.tick::before { content: "✓ " / ""; }
.sheet { background: var(--card); border: 1px solid var(--line); border-radius: 16px; box-shadow: var(--shadow); padding: 1.25rem; }
.sheet > p, #offer-details > p { margin-block-start: .5rem; color: var(--ink-2); }
.sheet > .eyebrow { margin-block: 0 .15rem; }
.glyph { display: grid; place-items: center; inline-size: 3rem; block-size: 3rem; border-radius: 50%; margin-block-end: 1rem; font-size: 1.25rem; font-weight: 700; line-height: 1; background: var(--sunken); color: var(--ink-2); }
.glyph::before { content: "?" / ""; }
.glyph.bad { background: var(--red-soft); color: var(--red); } .glyph.bad::before { content: "✕" / ""; }
.glyph.wait { background: var(--amber-soft); color: var(--amber); } .glyph.wait::before { content: "◷" / ""; font-size: 1.6rem; }
form { margin: 0; }
fieldset { border: 0; margin: 0; padding: 0; min-inline-size: 0; }
.choice { display: grid; grid-template-columns: 1.25rem minmax(0, 1fr); gap: 0 .75rem; margin-block-start: 1rem; padding: .875rem; border: 2px solid var(--line); border-radius: 12px; cursor: pointer; }
.choice + .choice { margin-block-start: .6rem; }
.choice:has(input:checked) { border-color: var(--green); }
.choice:has(:focus-visible) { outline: 2px solid var(--green); outline-offset: 2px; }
.choice input { inline-size: 1.25rem; block-size: 1.25rem; margin: .15rem 0 0; accent-color: var(--green); }
.choice input:focus-visible { outline: none; }
.choice-top { display: flex; flex-wrap: wrap; align-items: center; justify-content: space-between; gap: .25rem .5rem; font-weight: 600; line-height: 1.5; overflow-wrap: anywhere; }
.choice-top > :first-child { min-inline-size: 0; }
small { display: block; font-size: .875rem; line-height: 1.45; color: var(--ink-2); overflow-wrap: anywhere; }
.pill { display: inline-flex; align-items: center; gap: .4rem; padding-block: .1rem; padding-inline: .5rem .65rem; border-radius: 99px; font-size: .8125rem; line-height: 1.5; font-weight: 600; background: var(--sunken); color: var(--ink-2); }
.pill::before { content: "○" / ""; font-size: .75rem; line-height: 1; }
.pill.active { background: var(--green-soft); color: var(--green); } .pill.active::before { content: "●" / ""; }
.pill.soon { background: var(--amber-soft); color: var(--amber); } .pill.soon::before { content: "◐" / ""; }
.pill.revoked { background: var(--red-soft); color: var(--red); } .pill.revoked::before { content: "✕" / ""; }
.pill.unreachable::before, .pill.unknown::before { content: "?" / ""; }
details > summary { display: flex; align-items: center; gap: .5rem; min-block-size: 2.75rem; padding-block: .4rem; font-size: .875rem; line-height: 1.4; font-weight: 500; color: var(--ink-2); cursor: pointer; list-style: none; }
details > summary > span { min-inline-size: 0; overflow-wrap: anywhere; }
details > summary::-webkit-details-marker { display: none; }
details > summary::before { content: ""; flex: none; inline-size: .45rem; block-size: .45rem; margin-inline: .15rem .25rem; border: solid currentColor; border-width: 0 2px 2px 0; transform: rotate(-45deg); }
[dir=rtl] details > summary::before { transform: rotate(135deg); }
details[open] > summary::before, [dir=rtl] details[open] > summary::before { transform: rotate(45deg) translate(-2px, -2px); }
#unusable li { padding-block: .6rem; border-block-start: 1px solid var(--line); font-size: .875rem; line-height: 1.45; color: var(--ink-2); overflow-wrap: anywhere; }
#unusable .choice-top > :first-child, .past b { text-decoration: line-through; text-decoration-color: var(--red); }
.btn { display: inline-block; min-block-size: 2.75rem; padding: .6rem 1.15rem; border: 1px solid var(--field); border-radius: 8px; background: var(--card); color: var(--ink); font: inherit; font-weight: 600; line-height: 1.4; text-align: center; text-decoration: none; cursor: pointer; overflow-wrap: anywhere; }
.btn:hover { background: var(--sunken); }
.btn.block { display: block; inline-size: 100%; padding-block: .75rem; }
.btn.primary { background: var(--accent); border-color: transparent; color: var(--on-accent); }
.btn.primary:hover { background: color-mix(in srgb, var(--accent) 88%, var(--ink)); }
.btn.quiet { border-color: transparent; background: none; color: var(--ink-2); font-weight: 500; }
.btn.quiet:hover { color: var(--ink); text-decoration: underline; }
.btn.danger { background: var(--red-solid); border-color: transparent; color: var(--on-red); }
.btn.danger.outline { background: none; border-color: var(--red); color: var(--red); }
.btn.small { min-block-size: 2.75rem; padding-inline: .9rem; font-size: .875rem; }
.btn:disabled, .btn[aria-disabled=true] { opacity: .6; cursor: progress; }
.btn[aria-busy=true]::before { content: ""; display: inline-block; vertical-align: -.15em; margin-inline-end: .5rem; inline-size: 1rem; block-size: 1rem; border: 2px solid currentColor; border-block-start-color: transparent; border-radius: 50%; visibility: hidden; }
.stack { display: grid; gap: .5rem; margin-block-start: 1.25rem; }
#kept ~ .stack, details + .stack { margin-block-start: .75rem; }
.stack .btn.quiet { padding-block: .6rem; }
.skeleton { block-size: 5.5rem; margin-block-start: 1rem; border-radius: 12px; background: var(--sunken); }
.skeleton.tall { block-size: 11rem; }
.notice { border-radius: 12px; padding: .875rem 1rem; margin-block: 1rem 0; font-size: .9375rem; background: var(--blue-soft); }
.notice strong { display: block; color: var(--blue); font-weight: 600; }
.notice.good { background: var(--green-soft); } .notice.good strong { color: var(--green); }
.notice.bad { background: var(--red-soft); } .notice.bad strong { color: var(--red); }
.notice p:empty { display: none; }
.notice .btn { margin-block-start: .6rem; }
.wallet main > div > .notice { margin-block: 0 1.25rem; }
.field { margin-block: .25rem 1rem; }
.field label { display: block; font-weight: 600; font-size: .9375rem; margin-block-end: .3rem; }
.hint { margin-block-start: .3rem; }
textarea, input[type=file] { inline-size: 100%; max-inline-size: 100%; font: .86rem/1.45 var(--mono); color: inherit; background: var(--card); border: 1px solid var(--field); border-radius: 8px; padding: .65rem; }
input[type=file] { font-family: inherit; min-block-size: 2.75rem; }
input::file-selector-button { font: inherit; color: inherit; background: var(--sunken); border: 1px solid var(--field); border-radius: 6px; padding: .3rem .7rem; margin-inline-end: .75rem; }
textarea { resize: vertical; overflow-wrap: anywhere; }
#progress:empty, #said:empty, #copied:empty { display: none; }
#progress { margin-block-start: .5rem; text-align: center; }
#said { font-size: .9375rem; margin-block-end: .75rem; }
#said.bad { color: var(--red); } #said.good { color: var(--green); }
.late { animation: appear 0s 6s both; }
@keyframes appear { from { visibility: hidden; } to { visibility: visible; } }
.sees, .support { margin-block-start: .75rem; border-block-start: 1px solid var(--line); }
.can { display: grid; gap: .5rem; padding-block-end: .25rem; font-size: .9375rem; line-height: 1.45; }
.can li { display: grid; grid-template-columns: 1.25rem minmax(0, 1fr); gap: .5rem; overflow-wrap: anywhere; }
.can li::before { content: "✓" / ""; color: var(--green); font-weight: 700; }
.can li.not::before { content: "✕" / ""; color: var(--red); }
.can code { color: var(--ink-2); }
dl { display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: .35rem 1.25rem; font-size: .875rem; line-height: 1.45; }
dt { color: var(--ink-2); }
dd { min-inline-size: 0; overflow-wrap: anywhere; }
.support dl { padding-block-end: .75rem; } .support dd { font-family: var(--mono); font-size: .8125rem; }
#copied { margin-inline-start: .6rem; font-size: .875rem; color: var(--green); }
.kv { margin-block-start: 1.25rem; padding-block-start: 1rem; border-block-start: 1px solid var(--line); gap: .5rem 1.25rem; }
.sheet > div > .can, .sheet > .can { margin-block-start: 1rem; }
.group { margin-block-start: 1.5rem; }
.group .who { padding-block: 0 .75rem; }
.passes { background: var(--card); border: 1px solid var(--line); border-radius: 12px; overflow: hidden; }
.pass { display: grid; grid-template-columns: minmax(0, 1fr) max-content 1rem; gap: .25rem .75rem; align-items: center; min-block-size: 5.5rem; padding: .875rem 1rem; color: var(--ink); text-decoration: none; }
.pass + .pass { border-block-start: 1px solid var(--line); }
.pass:hover { background: var(--sunken); }
.pass:focus-visible { outline-offset: -3px; border-radius: 12px; }
.pass b { font-weight: 600; line-height: 1.5; overflow-wrap: anywhere; }
.pass::after { content: ""; inline-size: .5rem; block-size: .5rem; border: solid var(--ink-2); border-width: 0 2px 2px 0; transform: rotate(-45deg); }
[dir=rtl] .pass::after { transform: rotate(135deg); }
.past { margin-block-start: 1.5rem; border-block-start: 1px solid var(--line); }
.past .pass { min-block-size: 4rem; } .past b { color: var(--ink-2); }
.past .btn { margin-block-start: .75rem; }
#not-persistent { margin-block-start: 1.5rem; }
#view-claim .center { margin-block-start: .75rem; }
.back { display: inline-flex; align-items: center; gap: .5rem; min-block-size: 2.75rem; font-size: .875rem; font-weight: 500; color: var(--ink-2); text-decoration: none; }
.back::before { content: ""; inline-size: .5rem; block-size: .5rem; border: solid currentColor; border-width: 0 2px 2px 0; transform: rotate(135deg); }
[dir=rtl] .back::before { transform: rotate(-45deg); }
.sheet + .sheet { margin-block-start: 1.25rem; box-shadow: none; }
.sheet.danger h2 { color: var(--red); }
.empty { margin-block-start: 1.5rem; text-align: center; box-shadow: none; border-style: dashed; }
.empty .btn { margin-block-start: 1rem; }
.stamp { display: block; margin: .25rem auto .75rem; transform: rotate(9deg); fill: none; stroke: var(--green); stroke-width: 1.5; }
.stamp-ticks { stroke-width: 4.5; stroke-linecap: round; stroke-linejoin: round; }
dialog { color: inherit; background: var(--card); border: 1px solid var(--line); border-radius: 16px; box-shadow: var(--shadow); padding: 1.25rem; inline-size: min(100% - 2rem, 27.5rem); }
dialog::backdrop { background: rgb(8 14 11 / 55%); }
dialog h2 { font-size: 1.25rem; letter-spacing: -.012em; margin-block-end: .75rem; text-wrap: balance; }
.row { display: flex; flex-wrap: wrap; gap: .75rem; justify-content: flex-end; margin-block-start: 1.25rem; }
.row > .btn { flex: 1 1 8rem; }
.foot { inline-size: 100%; max-inline-size: 29.5rem; margin-inline: auto; padding: 0 1rem 1rem; display: flex; flex-wrap: wrap; align-items: center; justify-content: space-between; gap: 0 1rem; font-size: .8125rem; line-height: 1.5; color: var(--ink-2); }
.foot-links { display: flex; flex-wrap: wrap; align-items: center; gap: 0 1rem; }
.foot-links, .foot a { min-inline-size: 0; overflow-wrap: anywhere; }
.foot a { font-size: inherit; }
#time-left { font-variant-numeric: tabular-nums; } #time-left:empty { display: none; }
.by { display: inline-flex; align-items: center; gap: .5rem; min-block-size: 2rem; }
.languages > summary { font-size: inherit; font-weight: 400; }
.top .languages > summary { font-size: .875rem; }
.foot, .top-in { position: relative; }
.languages ul { position: absolute; inset-inline: 1rem; inset-block-end: 100%; z-index: 8; max-inline-size: 22rem; padding: .4rem; background: var(--card); border: 1px solid var(--line); border-radius: 12px; box-shadow: var(--shadow); columns: 2; }
.top .languages ul { inset-block: 100% auto; margin-inline-start: auto; }
.languages li a { display: flex; min-block-size: 2.5rem; padding-inline: .75rem; border-radius: 6px; color: var(--ink); font-size: .875rem; }
.languages li { break-inside: avoid; }
.languages li a[aria-current] { background: var(--green-soft); color: var(--green); font-weight: 600; }
@media (min-width: 37.5rem) { main { padding-block-start: 3.5rem; } .wallet main { padding-block-start: 2.5rem; } .sheet { padding: 1.75rem; } .foot { padding-block-end: 1.5rem; } .row > .btn { flex: none; } }
@media (max-width: 22rem) { dl { grid-template-columns: minmax(0, 1fr); gap: 0; } dd { margin-block-end: .5rem; } .pass { grid-template-columns: minmax(0, 1fr) 1rem; } .pass .pill { grid-row: 2; justify-self: start; } .pass::after { grid-row: 1 / span 2; grid-column: 2; } }
@media (prefers-reduced-motion: no-preference) {
  .btn, .pass, .choice { transition: background-color .12s, border-color .12s; }
  .skeleton { animation: breathe 1.4s ease-in-out infinite alternate; }
  .btn[aria-busy=true]::before { visibility: visible; animation: turn .8s linear infinite, appear 0s .3s both; }
  .stamp.stamped { animation: stamp .24s cubic-bezier(.2, .9, .3, 1) both; }
  .notice, dialog[open] { animation: rise .2s ease-out; }
}
@keyframes breathe { from { opacity: 1; } to { opacity: .5; } }
@keyframes turn { to { transform: rotate(1turn); } }
@keyframes stamp { from { transform: rotate(9deg) scale(1.15); opacity: 0; } to { transform: rotate(9deg) scale(1); opacity: 1; } }
@keyframes rise { from { opacity: 0; transform: translateY(4px); } }
@media (forced-colors: active) { .choice:has(input:checked) { outline: 2px solid Highlight; } .pill, .notice, .monogram, .glyph { border: 1px solid; } .btn.primary { border: 2px solid ButtonText; forced-color-adjust: none; background: Highlight; color: HighlightText; } }
@media print { .top, .foot, .skip { display: none; } }
`
