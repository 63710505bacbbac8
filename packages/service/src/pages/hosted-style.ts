/**
 * The look of the sign-in, wallet and error pages. Only logical properties, so that it reads from
 * right to left as well.
 */
export const hostedStyle = `:root {
  color-scheme: light dark;
  --ground: light-dark(#f3f5f2, #0f1412);
  --card: light-dark(#ffffff, #18201d);
  --ink: light-dark(#141c18, #e9efeb);
  --quiet: light-dark(#4d5a53, #a9b6af);
  --line: light-dark(#d5ddd8, #33403a);
  --field: light-dark(#75837b, #74837b);
  --accent: light-dark(#0a6448, #63d3a8);
  --on-accent: light-dark(#ffffff, #05231a);
  --tint: light-dark(#e4f2ec, #17342a);
  --bad: light-dark(#9f1d1d, #ffa39b);
  --on-bad: light-dark(#ffffff, #3b0906);
  --bad-tint: light-dark(#fdecea, #3a1a18);
  --warn: light-dark(#7a4b00, #f2c46d);
  --warn-tint: light-dark(#fdf2dc, #352911);
  --radius: 14px;
}
* { box-sizing: border-box; }
[hidden] { display: none !important; }
html { -webkit-text-size-adjust: 100%; text-size-adjust: 100%; }
body { margin: 0; background: var(--ground); color: var(--ink); font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", sans-serif; overflow-wrap: break-word; }
header, main { inline-size: min(100% - 2rem, 34rem); margin-inline: auto; }
header { padding-block: 1.75rem 1rem; }
main { padding-block-end: 4rem; }
main:focus { outline: none; }
.mark { display: inline-flex; gap: .5rem; align-items: center; font-weight: 650; color: var(--accent); }
.skip { position: absolute; inset-block-start: .5rem; inset-inline-start: .5rem; padding: .5rem .9rem; background: var(--card); color: var(--accent); border-radius: 8px; transform: translateY(-300%); }
.skip:focus { transform: none; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: var(--radius); padding: clamp(1.25rem, 5vw, 2rem); margin-block-end: 1.25rem; }
h1 { font-size: clamp(1.5rem, 6vw, 1.9rem); line-height: 1.2; margin-block: 0 .5rem; letter-spacing: -.01em; text-wrap: balance; }
h2 { font-size: 1rem; line-height: 1.4; margin-block: 1.25rem .35rem; }
.card > h2:first-child { margin-block-start: 0; }
h2.over { font-size: .95rem; color: var(--quiet); margin-block: 2rem .6rem; }
h3 { font-size: 1.1rem; margin: 0; }
h4 { font-size: .93rem; margin-block: .9rem .35rem; }
p { margin-block: .5rem; }
.lead { font-size: 1.05rem; margin-block: 0 1rem; }
.quiet, .hint { color: var(--quiet); }
.quiet { font-size: .93rem; }
.hint { font-size: .88rem; margin-block: .3rem 0; }
.eyebrow { color: var(--quiet); font-size: .9rem; margin-block: 0 .35rem; }
.host { display: inline-block; margin-block: 0 .75rem; padding: .15rem .6rem; border-radius: 99px; background: var(--tint); color: var(--accent); font-size: .93rem; font-weight: 600; }
code { font: .86em ui-monospace, SFMono-Regular, Menlo, monospace; overflow-wrap: anywhere; }
a { color: var(--accent); text-underline-offset: .2em; }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; border-radius: 6px; }
.scopes { list-style: none; margin: 0 0 1rem; padding: 0; border-block-start: 1px solid var(--line); }
.scopes li { display: flex; flex-wrap: wrap; gap: .15rem .75rem; justify-content: space-between; padding-block: .5rem; border-block-end: 1px solid var(--line); }
.scopes code { color: var(--quiet); align-self: center; }
form { margin-block-start: 1.25rem; }
fieldset { border: 0; margin: 0; padding: 0; min-inline-size: 0; }
legend { font-weight: 650; padding: 0; margin-block-end: .5rem; }
.choice { display: grid; grid-template-columns: auto minmax(0, 1fr); gap: 0 .75rem; align-items: start; padding: .8rem .9rem; border: 1px solid var(--line); border-radius: 10px; margin-block-end: .6rem; }
.choice:has(input:checked) { border-color: var(--accent); background: var(--tint); }
.choice:has(input:disabled) { background: none; border-style: dashed; }
.choice input { inline-size: 1.25rem; block-size: 1.25rem; margin-block: .15rem 0; accent-color: var(--accent); }
.choice label { font-weight: 600; cursor: pointer; overflow-wrap: anywhere; }
.choice:has(input:disabled) label { cursor: default; color: var(--quiet); }
.choice p { grid-column: 2; margin-block: .1rem 0; font-size: .9rem; color: var(--quiet); }
.choice p.bad { color: var(--bad); }
details { margin-block: .5rem 1rem; }
summary { cursor: pointer; padding-block: .4rem; font-weight: 600; min-block-size: 2rem; }
.field { margin-block: .6rem 1rem; }
.field label { display: block; font-weight: 600; margin-block-end: .3rem; }
textarea, input[type=file] { inline-size: 100%; font: .86rem/1.45 ui-monospace, SFMono-Regular, Menlo, monospace; color: inherit; background: var(--card); border: 1px solid var(--field); border-radius: 10px; padding: .65rem; }
input::file-selector-button { font: inherit; color: inherit; background: var(--tint); border: 1px solid var(--field); border-radius: 7px; padding: .3rem .7rem; margin-inline-end: .75rem; }
textarea { resize: vertical; overflow-wrap: anywhere; }
#said { margin-block: 0; }
#said.bad { color: var(--bad); }
#said.good { color: var(--accent); }
.actions { display: flex; flex-wrap: wrap; gap: .6rem; margin-block-start: 1.25rem; }
button, .button { font: inherit; font-weight: 600; min-block-size: 2.75rem; padding: .55rem 1.15rem; border-radius: 10px; border: 1px solid var(--field); background: none; color: inherit; text-decoration: none; display: inline-flex; align-items: center; justify-content: center; cursor: pointer; }
button:hover, .button:hover { background: var(--tint); }
button.primary, .button.primary { background: var(--accent); border-color: var(--accent); color: var(--on-accent); flex: 1 1 10rem; }
button.primary:hover, .button.primary:hover { filter: brightness(1.08); }
button:disabled { opacity: .65; cursor: progress; }
button.danger { background: var(--bad); border-color: var(--bad); color: var(--on-bad); }
button.danger:hover { filter: brightness(1.08); }
.card button.danger { background: none; color: var(--bad); }
.card button.danger:hover { background: var(--bad-tint); filter: none; }
button[aria-disabled=true] { opacity: .65; cursor: progress; }
.notice { border-radius: 10px; padding: .75rem .9rem; margin-block: 0 1rem; background: var(--tint); border-inline-start: 4px solid var(--accent); }
.notice.bad { background: var(--bad-tint); border-inline-start-color: var(--bad); }
.notice.plain { background: none; border: 1px solid var(--line); border-inline-start: 4px solid var(--field); }
.notice p { margin-block: .15rem 0; }
.notice button { margin-block-start: .6rem; }
.scopes li { overflow-wrap: anywhere; }
#problem, #notice, #offer { scroll-margin-block-start: 1rem; }
#problem > .notice { margin-block-start: 1rem; }
#progress:empty, #said:empty { margin: 0; }
#offer > h2 { font-size: 1.3rem; line-height: 1.25; margin-block-end: .6rem; }
.offer-facts { margin-block: 0 1rem; }
.onward > .primary { flex-basis: 100%; text-align: center; }
.may { font-size: 1rem; margin-block: 0 .35rem; }
.late { animation: appear 0s 6s both; }
@keyframes appear { from { visibility: hidden; } to { visibility: visible; } }
.facts { margin-block-start: 1.5rem; padding-block-start: .75rem; border-block-start: 1px solid var(--line); }
dl { display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: .25rem 1rem; margin: .5rem 0 0; font-size: .93rem; }
dt { color: var(--quiet); }
dd { margin: 0; min-inline-size: 0; overflow-wrap: anywhere; }
.credentials { list-style: none; margin: 0; padding: 0; }
.credential-head { display: flex; flex-wrap: wrap; gap: .4rem .75rem; align-items: center; justify-content: space-between; }
.status { display: inline-flex; align-items: center; gap: .4rem; font-size: .88rem; font-weight: 650; padding: .15rem .65rem; border-radius: 99px; background: var(--warn-tint); color: var(--warn); }
.status::before { content: ""; inline-size: .5rem; block-size: .5rem; border-radius: 50%; background: currentColor; }
.status.active { background: var(--tint); color: var(--accent); }
.status.revoked { background: var(--bad-tint); color: var(--bad); }
.empty { text-align: center; border-style: dashed; }
dialog { color: inherit; background: var(--card); border: 1px solid var(--line); border-radius: var(--radius); padding: clamp(1.25rem, 5vw, 2rem); inline-size: min(100% - 2rem, 30rem); }
dialog::backdrop { background: rgb(0 0 0 / .5); }
dialog form { margin: 0; }
dialog h2 { font-size: 1.2rem; margin-block: 0 .5rem; }
@media (prefers-reduced-motion: no-preference) { button, .button, .choice { transition: background-color .12s, filter .12s; } }
@media (max-width: 26rem) { .actions > * { flex: 1 1 100%; } dl { grid-template-columns: minmax(0, 1fr); gap: 0; } dd { margin-block-end: .4rem; } }
@media (forced-colors: active) { .choice:has(input:checked) { outline: 2px solid Highlight; } .status { border: 1px solid; } }
`
