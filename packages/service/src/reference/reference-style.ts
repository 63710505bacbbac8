/** What the front page, the API reference and the problem pages add to the style of the docs. */
export const referenceStyle = `
/* API reference */
.endpoint { display: grid; grid-template-columns: minmax(0, 1fr) minmax(0, 27rem); grid-template-rows: auto 1fr; column-gap: 3rem; align-items: start; }
.endpoint-head, .endpoint-text { grid-column: 1; min-inline-size: 0; max-inline-size: 44rem; }
.endpoint-head > p { margin-block-start: 1rem; }
.endpoint-head > .lead { margin-block-start: 1.25rem; }
.endpoint-text section > h2, .endpoint-text section > h3 { margin-block-start: 3rem; margin-block-end: 1rem; }
.endpoint-text section > h3 { font-size: 1rem; margin-block: 1.5rem .75rem; }
.endpoint-head .facts { margin-block-start: 1.5rem; }
.endpoint-path { display: flex; flex-wrap: wrap; align-items: baseline; gap: .25rem .625rem; font-size: .9375rem; }
.endpoint-path code { padding: 0; border: 0; background: none; font-size: .9375rem; overflow-wrap: anywhere; }
.endpoint-path wbr, .params wbr, .endpoints wbr { display: inline; }
h1 + .endpoint-path { margin-block-start: .75rem; padding: .625rem .875rem; background: var(--card); border: 1px solid var(--line); border-radius: 12px; }
.verb, .status { display: inline-block; padding: 0 .5rem; border-radius: 5px; font: 600 .8125rem/1.5rem var(--mono); background: var(--green-soft); color: var(--green); }
.verb-get { background: var(--blue-soft); color: var(--blue); }
.verb-delete { background: var(--red-soft); color: var(--red); }
.verb-patch { background: var(--amber-soft); color: var(--amber); }
.status { background: var(--sunken); color: var(--ink); }
.status.ok { background: var(--green-soft); color: var(--green); }
.status.no { background: var(--red-soft); color: var(--red); }
.params { border-block-start: 1px solid var(--control-line); }
.params > div { padding-block: 1rem; border-block-end: 1px solid var(--line); }
.params dt { display: flex; flex-wrap: wrap; align-items: baseline; gap: .125rem .625rem; }
.params dt code { font-weight: 600; font-size: .875rem; padding: 0; border: 0; background: none; }
.type { font-size: .8125rem; line-height: 1.25rem; color: var(--ink-2); }
.required { font-size: .75rem; line-height: 1rem; font-weight: 600; color: var(--amber); }
.params dd { margin-block-start: .25rem; font-size: .9375rem; line-height: 1.6; color: var(--ink-2); }
.errors a { text-decoration: none; }
.errors a:hover { text-decoration: underline; }
.errors > div { padding-block: .75rem; }
.params dd:empty { display: none; }
.params dd code { color: var(--ink); }
.members > summary, .fold > summary { display: inline-flex; align-items: center; gap: .5rem; min-block-size: 2rem; font-size: .8125rem; font-weight: 500; color: var(--ink-2); cursor: pointer; list-style: none; }
.members > summary::before, .fold > summary::before { content: "+" / ""; inline-size: 1rem; font: 600 1rem/1 var(--mono); color: var(--green); text-align: center; }
.members[open] > summary::before, .fold[open] > summary::before { content: "−" / ""; }
.members > summary:hover, .fold > summary:hover { color: var(--ink); }
.members > .params { margin-block: .5rem; padding-inline: 1rem; border: 1px solid var(--line); border-radius: 12px; background: var(--card); }
.members > .params > div:last-child { border: 0; }
.fold { margin-block-start: 1rem; }
.fold > summary { min-block-size: 2.75rem; font-size: .875rem; }
.choice { margin-block-end: 1rem; }
.endpoint-text section > p + .params, .endpoint-text section > .params { margin-block-start: 1rem; }
.aside { grid-column: 2; grid-row: 1 / 3; position: sticky; inset-block-start: calc(var(--top) + 1.5rem); display: grid; gap: 1rem; min-inline-size: 0; max-block-size: calc(100vh - var(--top) - 3rem); }
.tabs { min-inline-size: 0; margin: 0; padding: 0; border: 1px solid var(--line); border-radius: 12px; background: var(--card); overflow: hidden; display: flex; flex-wrap: wrap; align-items: stretch; position: relative; }
.tabs legend { position: absolute; inline-size: 1px; block-size: 1px; overflow: hidden; clip-path: inset(50%); }
.tabs::before { content: ""; position: absolute; inset: 0 0 auto; block-size: 2.5rem; background: var(--sunken); border-block-end: 1px solid var(--line); }
.tabs > input { position: absolute; opacity: 0; pointer-events: none; }
.tabs > label { position: relative; display: flex; align-items: center; block-size: 2.5rem; padding-inline: .875rem; font-size: .8125rem; font-weight: 500; color: var(--ink-2); cursor: pointer; border-block: 2px solid transparent; }
.tabs > label:hover { color: var(--ink); }
.tabs > label.ok { color: var(--green); } .tabs > label.no { color: var(--red); }
.tabs > input:checked + label { color: var(--ink); border-block-end-color: var(--green); }
.tabs > input:focus-visible + label { outline: 2px solid var(--green); outline-offset: -4px; border-radius: 8px; }
.tab { display: none; order: 1; inline-size: 100%; min-inline-size: 0; }
.tabs > input:nth-of-type(1):checked ~ .tab:nth-of-type(1), .tabs > input:nth-of-type(2):checked ~ .tab:nth-of-type(2), .tabs > input:nth-of-type(3):checked ~ .tab:nth-of-type(3) { display: block; }
.tab .code { border: 0; border-radius: 0; }
.tab .code-head { position: absolute; inset-block-start: 0; inset-inline-end: 0; border: 0; background: none; padding-inline-start: 0; }
.tab .code-head .name { display: none; }
.tab pre { font-size: .8125rem; padding: .75rem 1rem; }
.aside .tab pre { max-block-size: calc(50vh - 4rem); overflow: auto; }
main > .tabs { margin-block-start: 1.5rem; }
.actions { display: flex; flex-wrap: wrap; gap: .75rem; margin-block-start: 1.5rem; }
.endpoints > li { display: flex; flex-wrap: wrap; align-items: baseline; justify-content: space-between; gap: .125rem 1.5rem; }
.endpoints .endpoint-path, .endpoints .endpoint-path code { font-size: .8125rem; color: var(--ink-2); }
.endpoints.codes > li { display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: .125rem .75rem; }
.endpoints.codes .quiet { grid-column: 2; font-size: .875rem; }
.endpoint-link { font-weight: 500; text-decoration: none; }
.endpoint-link:hover { text-decoration: underline; }

/* Problems */
.advice { margin-block-start: 1.5rem; padding: 1.25rem; border: 1px solid var(--line); border-radius: 12px; background: var(--card); }
.advice h2 { font-size: 1.0625rem; line-height: 1.5rem; letter-spacing: 0; font-weight: 600; }
.advice p { margin-block-start: .5rem; }
.advice .actions { margin-block-start: 1rem; }
.chips { display: flex; flex-wrap: wrap; gap: .5rem; list-style: none; padding: 0; margin-block: 1.5rem .75rem; }
.chips li { margin: 0; }
.chip { display: inline-flex; align-items: center; min-block-size: 2.25rem; padding-inline: .875rem; border: 1px solid var(--control-line); border-radius: 99px; color: var(--ink); text-decoration: none; font-size: .875rem; font-variant-numeric: tabular-nums; }
.chip:hover { background: var(--sunken); }
.chip[aria-current] { background: var(--green); border-color: var(--green); color: var(--on-green); font-weight: 600; }
.codes td:first-child { font-variant-numeric: tabular-nums; }
.codes td code { white-space: nowrap; overflow-wrap: normal; }
.lost { max-inline-size: 44rem; padding-block: 3rem; }
.lost h1 { margin-block-start: 1rem; }

/* Front page */
.hero { display: grid; grid-template-columns: minmax(0, 1fr) minmax(0, 27rem); gap: 4rem; align-items: center; padding-block: 2.25rem 2.5rem; }
.hero h1 { font-size: 2.5rem; line-height: 1.15; font-weight: 700; letter-spacing: -.022em; text-wrap: wrap; }
.hero .lead { margin-block-start: 1.25rem; }
.hero .actions { margin-block-start: 2rem; }
.hero .meta { margin-block-start: 1.25rem; }
.receipt { position: relative; padding: 1.5rem; background: var(--card); border: 1px solid var(--line); border-radius: 12px; box-shadow: var(--shadow); font-size: .875rem; line-height: 1.45; }
.receipt::before { content: ""; position: absolute; inset: 0 0 auto; block-size: .375rem; border-radius: 12px 12px 0 0; background: repeating-linear-gradient(90deg, var(--green) 0 .25rem, transparent .25rem .5rem); opacity: .5; }
.receipt figcaption { font-size: 1rem; font-weight: 600; padding-inline-end: 5rem; }
.receipt dl { display: grid; grid-template-columns: max-content 1fr; gap: .25rem 1rem; margin-block-start: .75rem; }
.receipt dt { color: var(--ink-2); }
.receipt dd { font-variant-numeric: tabular-nums; }
.receipt dd code { padding: 0; border: 0; background: none; }
.receipt ul { list-style: none; padding: .75rem 0; margin-block: 1rem; border-block: 1px dashed var(--control-line); }
.receipt li { display: flex; gap: .625rem; padding-block: .3125rem; margin: 0; }
.receipt li > span:first-child { inline-size: 1rem; font-weight: 700; }
.receipt li > span:last-child { margin-inline-start: auto; font-variant-numeric: tabular-nums; }
.receipt .cut > span { color: var(--amber); font-weight: 600; }
.receipt strong { display: block; color: var(--green); font-weight: 650; }
.stamp { position: absolute; inset-inline-end: -1.25rem; inset-block-start: -1.75rem; inline-size: 7.25rem; block-size: 7.25rem; rotate: 9deg; }
.stamp path, .stamp circle { fill: none; stroke: var(--green); }
.stamp > path:first-of-type { fill: var(--card); stroke-width: 1.5; }
.stamp text { font: 700 9.6px var(--sans); letter-spacing: .13em; fill: var(--green); }
.stamp .ticks { stroke-width: 2; stroke-linecap: round; stroke-linejoin: round; }
.band { padding-block: 2.5rem; }
.band > h2 + p { margin-block-start: .5rem; }
.measure { max-inline-size: 44rem; }
.flow { margin-block-start: 1.5rem; }
.flow img { inline-size: 100%; }
.flow figcaption { margin-block-start: .75rem; max-inline-size: 52rem; font-size: .8125rem; line-height: 1.54; color: var(--ink-2); }
.steps { display: grid; gap: 1.5rem; list-style: none; padding: 0; margin-block-start: 1.5rem; counter-reset: step; }
.steps > li { display: grid; grid-template-columns: 15.5rem minmax(0, 1fr); gap: 2rem; align-items: start; margin: 0; counter-increment: step; }
.steps h3 { display: flex; gap: .75rem; align-items: center; font-size: 1rem; line-height: 1.5rem; padding-block-start: .5rem; }
.steps h3::before { content: counter(step) / ""; display: grid; place-items: center; inline-size: 1.75rem; block-size: 1.75rem; flex: none; border: 1.5px solid var(--green); border-radius: 50%; color: var(--green); font-size: .875rem; }
.steps p { margin: .125rem 0 0 2.5rem; font-size: .875rem; line-height: 1.43; color: var(--ink-2); }
.steps .answer { padding-block: .625rem; }
.roles { grid-template-columns: repeat(4, minmax(0, 1fr)); }
.roles .go { margin-block-start: auto; color: var(--green); font-weight: 600; }
.strip { display: grid; grid-template-columns: repeat(4, minmax(0, 1fr)); list-style: none; padding: 0; margin-block: 1.5rem .75rem; background: var(--card); border: 1px solid var(--line); border-radius: 12px; overflow: hidden; }
.strip > li { margin: 0; }
.strip > li + li { border-inline-start: 1px solid var(--line); }
.strip a { display: block; block-size: 100%; padding: 1.25rem; color: var(--ink); text-decoration: none; }
.strip a:hover strong { text-decoration: underline; }
.strip a:focus-visible { outline-offset: -3px; }
.strip b { display: block; font-size: 1.875rem; line-height: 1.27; font-weight: 700; letter-spacing: -.02em; color: var(--green); font-variant-numeric: tabular-nums; }
.strip small { margin-inline-start: .25rem; font-size: 1rem; letter-spacing: 0; }
.strip strong { display: block; margin-block-start: .25rem; font-size: .9375rem; font-weight: 600; }
.strip span { display: block; margin-block-start: .25rem; font-size: .8125rem; line-height: 1.54; color: var(--ink-2); }
@media (max-width: 75rem) {
  .endpoint { grid-template-columns: minmax(0, 1fr); }
  .aside { grid-column: 1; grid-row: auto; margin-block-start: 2rem; position: static; max-block-size: none; max-inline-size: 44rem; }
  .aside .tab pre { max-block-size: 24rem; }
}
@media (max-width: 60rem) {
  .hero { grid-template-columns: minmax(0, 1fr); gap: 3.5rem; padding-block-start: 1rem; }
  .receipt { max-inline-size: 29rem; inline-size: 100%; }
  .stamp { inset-inline-end: .5rem; inset-block-start: -2.5rem; inline-size: 6.25rem; block-size: 6.25rem; }
  .roles, .strip { grid-template-columns: repeat(2, minmax(0, 1fr)); }
  .strip > li:nth-child(3) { border-inline-start: 0; }
  .strip > li:nth-child(n+3) { border-block-start: 1px solid var(--line); }
  .steps > li { grid-template-columns: minmax(0, 1fr); gap: .75rem; }
  .chip { min-block-size: 2.75rem; }
}
@media (max-width: 35rem) {
  .hero h1 { font-size: 2rem; line-height: 1.19; }
  .hero .actions .button { flex: 1 1 100%; }
  .roles, .strip { grid-template-columns: minmax(0, 1fr); }
  .strip > li + li { border-inline-start: 0; border-block-start: 1px solid var(--line); }
  .endpoints > li { flex-direction: column; }
  .codes td:nth-child(-n+2) { display: inline-block; margin-inline-end: .5rem; }
}
@media (forced-colors: active) {
  .verb, .status, .chip[aria-current] { border: 1px solid CanvasText; }
  .chip[aria-current] { background: Highlight; color: HighlightText; forced-color-adjust: none; }
  .tabs > input:checked + label { border-block-end-color: Highlight; text-decoration: underline; }
  .stamp path, .stamp circle { stroke: CanvasText; } .stamp text { fill: CanvasText; }
}
@media (prefers-reduced-motion: no-preference) {
  .stamp { animation: stamp 240ms cubic-bezier(.2, .9, .3, 1) both; }
  @keyframes stamp { from { scale: 1.15; opacity: 0; } }
}
`
