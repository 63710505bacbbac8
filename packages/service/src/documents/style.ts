/**
 * The look of the documentation, the front page and the problem pages. Tokens first, then the
 * parts of the frame, then what a text can contain. Light and dark follow the browser.
 */
export const docsStyle = `:root {
  color-scheme: light dark;
  --ground: light-dark(#f6f8f6, #0f1412);
  --card: light-dark(#ffffff, #18201d);
  --sunken: light-dark(#eef2ef, #131a17);
  --ink: light-dark(#141c18, #e9efeb);
  --ink-2: light-dark(#4d5a53, #a9b6af);
  --line: light-dark(#dfe5e1, #29332e);
  --control-line: light-dark(#8a968f, #66736c);
  --green: light-dark(#0a6448, #63d3a8);
  --green-strong: light-dark(#084f39, #7adfb8);
  --green-soft: light-dark(#e3f3ec, #14352a);
  --on-green: light-dark(#ffffff, #06251b);
  --red: light-dark(#9f1d1d, #ff9d94);
  --red-soft: light-dark(#fdecea, #3a1916);
  --amber: light-dark(#7a4b00, #f2c063);
  --amber-soft: light-dark(#fdf2dc, #35270c);
  --blue: light-dark(#1d4f91, #9cc3f5);
  --blue-soft: light-dark(#e8f0fa, #14263c);
  --violet: light-dark(#6a2c91, #d7b4f0);
  --comment: light-dark(#5b6761, #94a19a);
  --edge: light-dark(rgb(20 28 24 / 12%), rgb(0 0 0 / 55%));
  --shadow: 0 1px 2px rgb(0 0 0 / 6%), 0 8px 24px rgb(0 0 0 / 8%);
  --sans: system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif;
  --mono: ui-monospace, "SF Mono", SFMono-Regular, Menlo, Consolas, monospace;
  --top: 3.5rem;
}
*, *::before, *::after { box-sizing: border-box; }
[hidden] { display: none !important; }
html { -webkit-text-size-adjust: 100%; text-size-adjust: 100%; scroll-padding-block-start: calc(var(--top) + 1rem); }
body { margin: 0; background: var(--ground); color: var(--ink); font: 1rem/1.625 var(--sans); -webkit-font-smoothing: antialiased; overflow-wrap: break-word; }
h1, h2, h3, h4, h5, h6, p, ul, ol, dl, dd, figure, pre, blockquote { margin: 0; padding: 0; }
h1, h2, h3, h4, h5, h6 { text-wrap: balance; }
h1, h2 { letter-spacing: -.012em; }
h1 { font-size: 1.875rem; line-height: 1.27; font-weight: 650; }
h2 { font-size: 1.5rem; line-height: 1.34; font-weight: 650; }
h3 { font-size: 1.2rem; line-height: 1.4; font-weight: 600; }
h4, h5, h6 { font-size: 1rem; line-height: 1.5; font-weight: 600; }
p { text-wrap: pretty; }
a { color: var(--green); text-underline-offset: .2em; text-decoration-thickness: 1px; }
a:hover { text-decoration-thickness: 2px; }
code, kbd, pre { font-family: var(--mono); font-feature-settings: "liga" 0, "calt" 0; }
img, svg { display: block; max-inline-size: 100%; }
img { block-size: auto; }
:focus-visible { outline: 2px solid var(--green); outline-offset: 2px; border-radius: 4px; }
main:focus { outline: none; }
.icon { inline-size: 1.25rem; block-size: 1.25rem; flex: none; fill: none; stroke: currentColor; stroke-width: 1.75; stroke-linecap: round; stroke-linejoin: round; }
.seal { flex: none; inline-size: 1.625rem; block-size: 1.625rem; }
.seal path:first-child { fill: var(--green); }
.seal path:last-child { fill: none; stroke: var(--on-green); stroke-width: 1.9; stroke-linecap: round; stroke-linejoin: round; }
.skip { position: fixed; inset-block-start: .75rem; inset-inline-start: 1rem; z-index: 30; padding: .5rem 1rem; background: var(--card); border: 1px solid var(--control-line); border-radius: 8px; transform: translateY(-400%); }
.skip:focus { transform: none; }
.hidden-text { position: absolute; inline-size: 1px; block-size: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
.quiet { color: var(--ink-2); }
.meta { font-size: .8125rem; line-height: 1.54; color: var(--ink-2); }
.num { font-variant-numeric: tabular-nums; }

/* Header */
.top { position: sticky; inset-block-start: 0; z-index: 20; background: var(--ground); border-block-end: 1px solid var(--line); }
.top-in { display: flex; align-items: center; gap: 1.5rem; min-block-size: var(--top); max-inline-size: 83rem; margin-inline: auto; padding-inline: 1.5rem; }
.front .top-in, .front .docs, .front .foot-in { max-inline-size: 68rem; }
.brand { display: inline-flex; align-items: center; gap: .625rem; min-block-size: 2.75rem; font-weight: 650; font-size: 1.0625rem; letter-spacing: -.012em; color: var(--ink); text-decoration: none; }
.top-links { display: flex; gap: .25rem; align-self: stretch; }
.top-links a { display: flex; align-items: center; padding-inline: .625rem; font-size: .875rem; font-weight: 500; color: var(--ink-2); text-decoration: none; border-block: 2px solid transparent; }
.top-links a:hover { color: var(--ink); }
.top-links a[aria-current] { color: var(--ink); border-block-end-color: var(--green); }
.top-end { display: flex; align-items: center; gap: .25rem; margin-inline-start: auto; }
.search { position: relative; display: flex; align-items: center; gap: .5rem; inline-size: 17.5rem; block-size: 2.375rem; padding: 0 .5rem 0 .75rem; border: 1px solid var(--control-line); border-radius: 8px; background: var(--card); color: var(--ink-2); font: 400 .875rem/1.25rem var(--sans); text-align: start; }
.search:focus-within { outline: 2px solid var(--green); outline-offset: 1px; }
.search .icon { inline-size: 1rem; block-size: 1rem; }
.search input { flex: 1; min-inline-size: 0; align-self: stretch; border: 0; padding: 0; background: none; color: var(--ink); font: inherit; outline: none; }
input::-webkit-search-cancel-button { display: none; }
.search ::placeholder { color: var(--ink-2); opacity: 1; }
button.search { cursor: pointer; }
button.search:hover { border-color: var(--green); }
.search kbd { margin-inline-start: auto; }
kbd { font-size: .75rem; line-height: 1rem; padding: .0625rem .375rem; border: 1px solid var(--line); border-block-end-width: 2px; border-radius: 5px; background: var(--card); color: var(--ink-2); }
.version { font: 500 .75rem/1rem var(--mono); color: var(--ink-2); padding-inline: .75rem 0; }
.tool { display: none; place-items: center; inline-size: 2.75rem; block-size: 2.75rem; border: 0; border-radius: 8px; background: none; color: var(--ink-2); cursor: pointer; }
.tool:hover { background: var(--sunken); color: var(--ink); }

/* Columns */
.docs { display: grid; grid-template-columns: 14.5rem minmax(0, 44rem) 12.5rem; gap: 3.5rem; justify-content: space-between; max-inline-size: 83rem; margin-inline: auto; padding-inline: 1.5rem; min-block-size: calc(100vh - var(--top)); }
.front .docs { display: block; }
.wide .docs { grid-template-columns: 14.5rem minmax(0, 1fr); gap: 3rem; }
main { padding-block: 2.25rem 4rem; min-inline-size: 0; }
.side { position: sticky; inset: var(--top) auto auto; align-self: start; display: block; inline-size: auto; block-size: auto; max-block-size: calc(100vh - var(--top)); margin: 0; overflow-y: auto; overscroll-behavior: contain; border: 0; padding: 1.5rem .25rem 3rem 0; background: none; color: inherit; font-size: .875rem; line-height: 1.25rem; scrollbar-width: thin; scrollbar-color: var(--line) transparent; }
.side summary { display: flex; align-items: center; gap: .5rem; min-block-size: 2.25rem; font-size: .8125rem; font-weight: 600; cursor: pointer; list-style: none; border-radius: 6px; }
.side summary::after { content: ""; inline-size: .4rem; block-size: .4rem; border: solid var(--ink-2); border-width: 0 1.5px 1.5px 0; transform: rotate(-45deg); margin-inline: auto .5rem; }
.side details[open] > summary::after { transform: rotate(45deg); }
.side details + details { margin-block-start: .5rem; }
.side ul { list-style: none; }
.side-head { display: none; justify-content: space-between; align-items: center; font-weight: 600; }
.side li a { display: block; padding: .375rem .75rem; color: var(--ink-2); text-decoration: none; border-inline-start: 2px solid var(--line); }
.side li a:hover { color: var(--ink); border-color: var(--control-line); }
.side a[aria-current] { color: var(--green); border-color: var(--green); background: var(--green-soft); font-weight: 600; border-start-end-radius: 6px; border-end-end-radius: 6px; }
summary::-webkit-details-marker { display: none; }
.toc { position: sticky; inset-block-start: var(--top); align-self: start; max-block-size: calc(100vh - var(--top)); overflow-y: auto; padding-block: 2.25rem; font-size: .8125rem; line-height: 1.25rem; scrollbar-width: thin; scrollbar-color: var(--line) transparent; }
.toc h2 { font-size: .8125rem; line-height: 1.25rem; font-weight: 600; letter-spacing: 0; margin-block-end: .5rem; }
.toc ul, .toc-small ul { list-style: none; }
.toc li a { display: block; padding-block: .25rem; color: var(--ink-2); text-decoration: none; }
.toc li a:hover { color: var(--ink); text-decoration: underline; }
.toc .deeper, .toc-small .deeper { padding-inline-start: .75rem; }
.toc a[aria-current] { color: var(--green); font-weight: 600; }
.page-end { margin-block-start: 1rem; padding-block-start: 1rem; border-block-start: 1px solid var(--line); font-size: .8125rem; line-height: 1.25rem; }
.page-end a { color: var(--ink-2); }
.toc-small { display: none; margin-block-start: 1rem; border-block: 1px solid var(--line); }
.toc-small summary { display: flex; align-items: center; gap: .625rem; min-block-size: 2.75rem; font-size: .875rem; font-weight: 500; color: var(--ink-2); cursor: pointer; list-style: none; }
.toc-small summary::before { content: ""; inline-size: .4rem; block-size: .4rem; border: solid currentColor; border-width: 0 1.5px 1.5px 0; transform: rotate(-45deg); margin-inline: .25rem; }
.toc-small[open] summary::before { transform: rotate(45deg); }
.toc-small ul { padding: 0 0 .75rem 1.5rem; }
.toc-small a { display: block; padding-block: .5rem; font-size: .875rem; line-height: 1.25rem; color: var(--ink-2); text-decoration: none; }
.trail { display: flex; flex-wrap: wrap; list-style: none; font-size: .8125rem; line-height: 1.25rem; color: var(--ink-2); margin-block-end: .5rem; }
main .trail li + li { margin: 0; }
.trail li + li::before { content: "/" / ""; margin-inline: .5rem; }
.crumbs a { color: inherit; text-decoration: none; }
.crumbs a:hover { color: var(--ink); text-decoration: underline; }
.neighbors { display: grid; grid-template-columns: 1fr 1fr; gap: 1rem; margin-block-start: 4rem; }
.neighbors a { display: block; padding: .875rem 1rem; border: 1px solid var(--line); border-radius: 12px; background: var(--card); text-decoration: none; color: var(--ink); font-weight: 600; line-height: 1.5; }
.neighbors a:hover { border-color: var(--green); }
.neighbors span { display: block; font-size: .8125rem; line-height: 1.25rem; font-weight: 400; color: var(--ink-2); }
.previous span::before { content: "← " / ""; }
.next span::after { content: " →" / ""; }
.next { grid-column: 2; text-align: end; }
.foot { border-block-start: 1px solid var(--line); }
.foot-in { display: flex; flex-wrap: wrap; align-items: center; gap: .25rem 1.5rem; max-inline-size: 83rem; margin-inline: auto; padding: 1.25rem 1.5rem; font-size: .875rem; line-height: 1.25rem; }
.foot a { color: var(--ink-2); text-decoration: none; padding-block: .5rem; }
.foot a:hover { text-decoration: underline; }
.foot .brand { font-size: .875rem; color: var(--ink); margin-inline-end: auto; }
.foot .seal { inline-size: 1.25rem; block-size: 1.25rem; }

/* Text */
.lead { font-size: 1.125rem; line-height: 1.56; color: var(--ink-2); margin-block-start: .75rem; }
main > p, main > ul, main > ol, main > dl, main > blockquote { margin-block-start: 1rem; }
h1 + p { margin-block-start: .75rem; }
main > h2 { margin-block-start: 3rem; }
main > h3 { margin-block-start: 2.25rem; }
main > h4, main > h5, main > h6 { margin-block-start: 1.75rem; }
main > :is(h2, h3, h4) + :is(p, ul, ol) { margin-block-start: .75rem; }
main > h2 + h3 { margin-block-start: 1.25rem; }
main > :is(.code, .notice, .scroll, .picture) { margin-block-start: 1.25rem; }
main > :is(.code, .notice, .scroll, .picture) + p { margin-block-start: 1.25rem; }
main :is(ul, ol):not([class]) { padding-inline-start: 1.375rem; }
nav ul:not([class]), .toc ul:not([class]), .toc-small ul:not([class]) { padding-inline-start: 0; }
main li + li, main li > :is(p, ul, ol) { margin-block-start: .375rem; }
main li::marker { color: var(--green); }
.anchored { position: relative; }
.anchor { color: inherit; text-decoration: none; }
.anchor::after { content: " #" / ""; color: var(--ink-2); font-weight: 400; opacity: 0; }
:is(h2, h3, h4):hover > .anchor::after, .anchor:focus-visible::after { opacity: 1; }
:target { scroll-margin-block-start: .5rem; }
td:has(:target), tr:has(:target) { background: var(--green-soft); }
blockquote { padding-inline-start: 1rem; border-inline-start: 3px solid var(--line); color: var(--ink-2); }
hr { border: 0; border-block-start: 1px solid var(--line); margin-block: 2rem; }
:not(pre) > code { font-size: .875em; padding: .0625rem .3125rem; border-radius: 4px; background: var(--sunken); border: 1px solid var(--line); overflow-wrap: anywhere; -webkit-box-decoration-break: clone; box-decoration-break: clone; }
a > code { color: inherit; }
.notice { display: grid; grid-template-columns: 1.25rem minmax(0, 1fr); gap: .125rem .75rem; padding: .875rem 1rem; border-radius: 12px; font-size: .9375rem; line-height: 1.6; border: 1px solid transparent; background: var(--blue-soft); }
.notice > .icon { margin-block-start: .125rem; color: var(--blue); }
.notice strong:first-child { color: var(--blue); font-weight: 600; }
.notice-warning { background: var(--amber-soft); } .notice-warning > .icon, .notice-warning strong:first-child { color: var(--amber); }
.notice-good { background: var(--green-soft); } .notice-good > .icon, .notice-good strong:first-child { color: var(--green); }
.notice-bad { background: var(--red-soft); } .notice-bad > .icon, .notice-bad strong:first-child { color: var(--red); }
.picture img { border-radius: 12px; inline-size: 100%; }

/* Code. A shadow shows at which edge the code goes on. */
.code { background: var(--card); border: 1px solid var(--line); border-radius: 12px; overflow: hidden; }
.code-head { display: flex; align-items: center; gap: .75rem; min-block-size: 2.5rem; padding: 0 .375rem 0 1rem; background: var(--sunken); border-block-end: 1px solid var(--line); font-size: .8125rem; line-height: 1.25rem; color: var(--ink-2); }
.code-head .name { font-weight: 500; color: var(--ink); overflow-wrap: anywhere; }
.code-head .copy { margin-inline-start: auto; }
.copy { display: inline-flex; align-items: center; gap: .375rem; min-block-size: 2rem; padding: 0 .625rem; border: 0; border-radius: 6px; background: none; color: var(--ink-2); font: 500 .8125rem/1.25rem var(--sans); cursor: pointer; }
.copy:hover { background: var(--line); color: var(--ink); }
.copy .icon { inline-size: .9375rem; block-size: .9375rem; }
pre { --on: var(--card); padding: 1rem; overflow-x: auto; font-size: .84375rem; line-height: 1.6; tab-size: 2; background:
  linear-gradient(90deg, var(--on) 40%, transparent) left / 2.5rem 100% no-repeat local,
  linear-gradient(-90deg, var(--on) 40%, transparent) right / 2.5rem 100% no-repeat local,
  linear-gradient(90deg, var(--edge), transparent) left / .625rem 100% no-repeat scroll,
  linear-gradient(-90deg, var(--edge), transparent) right / .625rem 100% no-repeat scroll var(--on); scrollbar-width: thin; scrollbar-color: var(--control-line) transparent; }
pre:focus-visible, .scroll:focus-visible { outline-offset: -2px; border-radius: 12px; }
.code .answer { --on: var(--sunken); border-block-start: 1px dashed var(--control-line); }
.wrap { white-space: pre-wrap; overflow-wrap: anywhere; }
.k { color: var(--green); font-weight: 500; } .s { color: var(--amber); } .n { color: var(--blue); } .p { color: var(--violet); } .c { color: var(--comment); } .t { color: var(--blue); }
.d { color: var(--comment); user-select: none; } .ok { color: var(--green); font-weight: 600; } .no { color: var(--red); font-weight: 600; }
.add { color: var(--green); } .del { color: var(--red); }

/* Tables */
.scroll { overflow-x: auto; background:
  linear-gradient(90deg, var(--ground) 40%, transparent) left / 2.5rem 100% no-repeat local,
  linear-gradient(-90deg, var(--ground) 40%, transparent) right / 2.5rem 100% no-repeat local,
  linear-gradient(90deg, var(--edge), transparent) left / .625rem 100% no-repeat scroll,
  linear-gradient(-90deg, var(--edge), transparent) right / .625rem 100% no-repeat scroll; scrollbar-width: thin; scrollbar-color: var(--control-line) transparent; }
table { inline-size: 100%; border-collapse: collapse; font-size: .875rem; line-height: 1.57; }
th { text-align: start; vertical-align: bottom; font-size: .8125rem; line-height: 1.54; font-weight: 600; color: var(--ink-2); padding: .5rem 1rem .5rem 0; border-block-end: 1px solid var(--control-line); }
td { padding: .75rem 1rem .75rem 0; border-block-end: 1px solid var(--line); vertical-align: top; }
:is(td, th):last-child { padding-inline-end: 0; }
.end { text-align: end; font-variant-numeric: tabular-nums; }
wbr { display: none; }
:is(td, th) wbr { display: inline; }
.option { white-space: nowrap; }
:is(td, th) code { overflow-wrap: anywhere; -webkit-box-decoration-break: slice; box-decoration-break: slice; }
.many { font-size: .8125rem; }
.many :is(td, th) { padding-inline-end: .75rem; }
.many .option { white-space: normal; }
.listed thead { position: absolute; inline-size: 1px; block-size: 1px; overflow: hidden; clip-path: inset(50%); }
.listed, .listed tbody { display: block; }
.listed tr { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 19rem), 1fr)); gap: .125rem 1.5rem; padding-block: .75rem; border-block-end: 1px solid var(--line); }
.listed td { padding: 0; border: 0; min-inline-size: 0; }
.listed td:is(:first-child, :last-child) { grid-column: 1 / -1; }
.listed td:first-child { font-weight: 600; }
.listed td[data-label]::before { content: attr(data-label) ": "; color: var(--ink-2); font-size: .8125rem; }
.listed td:empty { display: none; }
@media (min-width: 35.01rem) {
  table:not(.many) td:first-child > code:last-child { white-space: nowrap; }
  table:not(.many) td:first-child > code:last-child wbr { display: none; }
  .many :is(td, th):first-child { position: sticky; inset-inline-start: 0; background: var(--ground); }
}

/* Cards, buttons, lists of facts */
.cards { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 15rem), 1fr)); gap: 1rem; list-style: none; padding: 0; margin-block-start: 1.5rem; }
.cards > li { margin: 0; }
.card { position: relative; display: flex; flex-direction: column; gap: .5rem; block-size: 100%; padding: 1.25rem; background: var(--card); border: 1px solid var(--line); border-radius: 12px; }
.card:hover { border-color: var(--green); }
.card > .icon { color: var(--green); inline-size: 1.5rem; block-size: 1.5rem; }
.card :is(h2, h3) { font-size: 1.0625rem; line-height: 1.5rem; letter-spacing: 0; font-weight: 600; margin: 0; }
.card :is(h2, h3) a { color: var(--ink); text-decoration: none; }
.card :is(h2, h3) a::before { content: ""; position: absolute; inset: 0; border-radius: 12px; }
.card p { font-size: .875rem; line-height: 1.57; color: var(--ink-2); }
.card .more { position: relative; display: flex; flex-wrap: wrap; gap: .25rem 1rem; margin-block-start: auto; padding: .25rem 0 0; list-style: none; font-size: .875rem; }
.card .more li { margin: 0; }
.button { display: inline-flex; align-items: center; justify-content: center; gap: .5rem; min-block-size: 2.75rem; padding-inline: 1.25rem; border: 1px solid var(--control-line); border-radius: 8px; background: var(--card); color: var(--ink); font: 600 1rem/1.5rem var(--sans); text-decoration: none; cursor: pointer; }
.button:hover { background: var(--sunken); }
.button.primary { background: var(--green); border-color: var(--green); color: var(--on-green); }
.button.primary:hover { background: var(--green-strong); }
.facts { display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: .375rem 1.25rem; font-size: .9375rem; }
.facts dt { color: var(--ink-2); }
.endpoints { list-style: none; padding: 0; border-block-start: 1px solid var(--line); }
.endpoints > li { padding-block: .75rem; margin: 0; border-block-end: 1px solid var(--line); overflow-wrap: anywhere; }
.method { display: inline-block; min-inline-size: 4.5em; font-weight: 600; color: var(--green); }

/* Search */
.search-dialog { inline-size: min(100% - 2rem, 40rem); max-block-size: min(100% - 4rem, 36rem); margin-block-start: 10vh; padding: 0; border: 1px solid var(--line); border-radius: 16px; background: var(--card); color: var(--ink); box-shadow: var(--shadow); overflow: hidden; }
.search-dialog[open] { display: flex; flex-direction: column; }
.search-dialog::backdrop { background: rgb(8 14 11 / 55%); }
.search-field { display: flex; align-items: center; gap: .75rem; min-block-size: 3.5rem; padding-inline: 1rem; border-block-end: 1px solid var(--line); color: var(--ink-2); flex: none; }
.search-field input { flex: 1; min-inline-size: 0; min-block-size: 3rem; border: 0; padding: 0; background: none; color: var(--ink); font: 400 1.0625rem/1.5rem var(--sans); outline: none; }
.search-field:focus-within { box-shadow: inset 0 -2px 0 var(--green); }
.search-field ::placeholder { color: var(--ink-2); opacity: 1; }
.results { list-style: none; overflow-y: auto; padding: .5rem; margin: 0; }
.results li { margin: 0; }
.result { display: block; padding: .625rem .75rem; border-radius: 8px; color: var(--ink); text-decoration: none; }
.result:hover, [aria-selected=true] > .result { background: var(--green-soft); }
[aria-selected=true] > .result { outline: 2px solid var(--green); outline-offset: -2px; }
.result b { display: block; font-weight: 600; line-height: 1.5; }
.result small { display: block; font-size: .8125rem; line-height: 1.25rem; color: var(--ink-2); }
.result p { font-size: .875rem; line-height: 1.43; color: var(--ink-2); margin: .125rem 0 0; overflow-wrap: anywhere; }
mark { background: none; color: var(--green); font-weight: 600; }
.search-state { padding: 0 1.25rem; margin: 0; font-size: .8125rem; line-height: 1.25rem; color: var(--ink-2); }
.search-state:not(:empty) { padding-block: .75rem; }
.search-page { max-inline-size: none; inline-size: 100%; block-size: 3rem; margin-block-start: 1.25rem; font-size: 1rem; }

@media (prefers-reduced-motion: no-preference) {
  a, .tool, .copy, .button, .card, .neighbors a { transition: background-color 120ms, border-color 120ms, color 120ms; }
  .side summary::after, .toc-small summary::before { transition: transform 120ms; }
}
@media (max-width: 75rem) {
  .docs { grid-template-columns: 14.5rem minmax(0, 44rem); justify-content: start; }
  .toc { display: none; }
  .toc-small { display: block; }
}
@media (min-width: 60.01rem) {
  .front .side { display: none; }
}
@media (max-width: 60rem) {
  .docs, .wide .docs { grid-template-columns: minmax(0, 1fr); gap: 0; }
  .side[popover] { position: fixed; inset: 0 0 0 auto; inline-size: min(100%, 22rem); block-size: 100%; max-block-size: none; margin: 0; padding: 1rem 1.25rem 3rem; background: var(--card); border-inline-start: 1px solid var(--line); box-shadow: var(--shadow); }
  .side[popover]:not(:popover-open) { display: none; }
  .side::backdrop { background: rgb(8 14 11 / 55%); }
  .side summary { min-block-size: 2.75rem; }
  .side-head { display: flex; }
  .side li a { padding-block: .75rem; }
  .top-links, .version, .top-end search { display: none; }
  .tool { display: inline-grid; }
  .top-end { margin-inline-end: -.625rem; }
}
@media (max-width: 35rem) {
  .top-in, .docs, .foot-in { padding-inline: 1rem; }
  h1 { font-size: 1.75rem; }
  h2 { font-size: 1.375rem; }
  .lead { font-size: 1.0625rem; }
  main { padding-block-start: 1.5rem; }
  .neighbors { grid-template-columns: minmax(0, 1fr); }
  .next { grid-column: 1; }
  .foot .brand { inline-size: 100%; }
  .facts { grid-template-columns: minmax(0, 1fr); gap: 0; }
  .facts dd { margin-block-end: .5rem; }
  /* A table becomes a list of labels and values. */
  .stack thead { position: absolute; inline-size: 1px; block-size: 1px; overflow: hidden; clip-path: inset(50%); }
  .stack, .stack tbody, .stack tr, .stack td { display: block; }
  .stack tr { padding-block: .75rem; border-block-end: 1px solid var(--line); }
  .stack td { padding: .125rem 0; border: 0; text-align: start; }
  .stack td[data-label]::before { content: attr(data-label) ": "; color: var(--ink-2); font-size: .8125rem; }
  .stack td:empty { display: none; }
}
@media (forced-colors: active) {
  .seal path:first-child { fill: CanvasText; } .seal path:last-child { stroke: Canvas; }
  .button.primary { border-width: 2px; }
  .side a[aria-current], .toc a[aria-current] { text-decoration: underline; }
  .notice, .card { border-color: CanvasText; }
  [aria-selected=true] > .result { outline-color: Highlight; }
}
@media print {
  .top, .side, .toc, .toc-small, .neighbors, .foot, .skip, .copy { display: none; }
  .docs { display: block; }
  .code, pre { overflow: visible; white-space: pre-wrap; }
}
`
