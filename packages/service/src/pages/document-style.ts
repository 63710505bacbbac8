/**
 * The look of the documentation: the colours of the hosted pages, and room for long messages, wide
 * tables and a navigation.
 */
export const documentStyle = `:root {
  color-scheme: light dark;
  --ground: light-dark(#ffffff, #0f1412);
  --side: light-dark(#f3f5f2, #141a17);
  --ink: light-dark(#141c18, #e9efeb);
  --quiet: light-dark(#4d5a53, #a9b6af);
  --line: light-dark(#d5ddd8, #33403a);
  --accent: light-dark(#0a6448, #63d3a8);
  --tint: light-dark(#e4f2ec, #17342a);
  --code: light-dark(#f3f5f2, #18201d);
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; text-size-adjust: 100%; scroll-padding-block-start: 1rem; }
body { margin: 0; background: var(--ground); color: var(--ink); font: 1rem/1.6 system-ui, -apple-system, "Segoe UI", sans-serif; overflow-wrap: break-word; }
header, main { inline-size: min(100% - 2rem, 62rem); margin-inline: auto; }
header { padding-block: 1.25rem .5rem; }
main { padding-block: .5rem 4rem; min-inline-size: 0; }
main:focus { outline: none; }
.mark { display: inline-flex; gap: .5rem; align-items: center; font-weight: 650; color: var(--accent); text-decoration: none; min-block-size: 2rem; }
.skip { position: absolute; inset-block-start: .5rem; inset-inline-start: .5rem; padding: .5rem .9rem; background: var(--side); color: var(--accent); border-radius: 8px; transform: translateY(-300%); }
.skip:focus { transform: none; }
h1 { font-size: clamp(1.6rem, 6vw, 2.1rem); line-height: 1.2; margin-block: 0 .75rem; letter-spacing: -.01em; text-wrap: balance; }
h2 { font-size: 1.3rem; line-height: 1.3; margin-block: 2.5rem .5rem; }
h3 { font-size: 1.08rem; margin-block: 1.75rem .4rem; }
h4, h5, h6 { font-size: 1rem; margin-block: 1.5rem .4rem; }
p, li, blockquote { max-inline-size: 46rem; }
p { margin-block: .6rem; }
ul, ol { padding-inline-start: 1.4rem; margin-block: .6rem; }
li { margin-block: .2rem; }
a { color: var(--accent); text-underline-offset: .2em; }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; border-radius: 4px; }
code { font: .88em ui-monospace, SFMono-Regular, Menlo, monospace; overflow-wrap: anywhere; }
:not(pre) > code { background: var(--code); border-radius: 4px; padding: .1em .3em; }
pre { background: var(--code); border: 1px solid var(--line); border-radius: 10px; padding: .9rem 1rem; overflow-x: auto; line-height: 1.45; margin-block: .8rem; }
pre code { overflow-wrap: normal; white-space: pre; }
.scroll { overflow-x: auto; margin-block: .8rem; }
table { border-collapse: collapse; font-size: .93rem; min-inline-size: 100%; }
th, td { text-align: start; vertical-align: top; padding: .5rem .75rem .5rem 0; border-block-end: 1px solid var(--line); }
td code, th code { overflow-wrap: break-word; }
wbr { display: none; }
td wbr, th wbr { display: inline; }
.option { white-space: nowrap; }
th { color: var(--quiet); font-weight: 600; }
blockquote { margin: .8rem 0; padding-inline-start: 1rem; border-inline-start: 4px solid var(--line); color: var(--quiet); }
img { display: block; max-inline-size: 100%; block-size: auto; margin-block: 1rem; border-radius: 10px; }
.quiet { color: var(--quiet); }
.endpoints { list-style: none; margin: 0; padding: 0; border-block-start: 1px solid var(--line); }
.endpoints > li { padding-block: .75rem; margin: 0; max-inline-size: none; border-block-end: 1px solid var(--line); overflow-wrap: anywhere; }
.method { display: inline-block; min-inline-size: 4.5em; font-weight: 600; color: var(--accent); }
.tag { text-transform: capitalize; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .35rem 1rem; }
dt { color: var(--quiet); }
dd { margin: 0; min-inline-size: 0; }
.sections { background: var(--side); border-block: 1px solid var(--line); padding: .25rem 1rem; }
.sections summary { cursor: pointer; font-weight: 600; padding-block: .5rem; }
.sections h2 { font-size: .82rem; letter-spacing: .04em; color: var(--quiet); margin-block: 1rem .2rem; }
.sections ul, .contents ul { list-style: none; margin: 0; padding: 0; }
.sections li { margin: 0; }
.sections li a { display: block; padding: .28rem .6rem; margin-inline: -.6rem; border-radius: 6px; color: inherit; text-decoration: none; font-size: .93rem; line-height: 1.35; }
.sections li a:hover { text-decoration: underline; }
.sections a[aria-current] { background: var(--tint); color: var(--accent); font-weight: 600; }
.contents { border-inline-start: 4px solid var(--tint); padding-inline-start: 1rem; margin-block: 1rem; }
.contents ul { columns: 15rem; }
.contents li { margin-block: 0 .4rem; }
.contents p { margin: 0; font-weight: 600; font-size: .9rem; color: var(--quiet); }
.sections + main { padding-block-start: 1.5rem; }
@media (min-width: 40rem) { td:first-child > code:only-child wbr { display: none; } }
@media (max-width: 40rem) { dl { grid-template-columns: 1fr; } dd { margin-block-end: .5rem; } }
@media (min-width: 62rem) {
  .beside { display: grid; grid-template: auto 1fr / 17rem minmax(0, 1fr); min-block-size: 100vh; }
  .beside header { grid-area: 1 / 1; inline-size: auto; margin: 0; padding-inline: 1.5rem; background: var(--side); border-inline-end: 1px solid var(--line); }
  .beside .sections { grid-area: 2 / 1; border-block: 0; border-inline-end: 1px solid var(--line); padding: 0 1.5rem 2rem; }
  .beside main { grid-area: 1 / 2 / 3; inline-size: min(100% - 4rem, 62rem); padding-block-start: 2rem; }
}
@supports selector(::details-content) {
  @media (min-width: 62rem) {
    .sections summary { display: none; }
    .sections details::details-content { content-visibility: visible; display: block; block-size: auto; }
  }
}
@media print { header, .sections, .contents, .skip { display: none; } .beside { display: block; } }
`
