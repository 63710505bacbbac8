import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { renderMarkdown } from '../../src/documents/markdown.ts'

const rendered = (text: string) =>
  renderMarkdown(text, {
    link: (target) => (target.startsWith('javascript') ? undefined : target),
    picture: (target) => (/-(?:dark|narrow)\b/.test(target) ? undefined : { url: target }),
  }).content.markup.trim()

describe('a document', () => {
  test.each([
    ['a paragraph of two lines', 'one\ntwo', '<p>one\ntwo</p>'],
    [
      'a heading',
      '## A `b`, *c*: (d)',
      '<h2 id="a-b-c-d"><a class="anchor" href="#a-b-c-d">A <code>b</code>, <em>c</em>: (d)</a></h2>',
    ],
    ['two headings of one name', '# A\n# A', '<h1 id="a">A</h1>\n<h1 id="a-1">A</h1>'],
    [
      'emphasis',
      '**a b** and *c*, but 2 * 3 * 4',
      '<p><strong>a b</strong> and <em>c</em>, but 2 * 3 * 4</p>',
    ],
    ['code with marks in it', '`**a** [b](c) <d>`', '<p><code>**a** [b](c) &#60;d&#62;</code></p>'],
    [
      'code with a long name, which may break',
      '`a_b c user_ref_from_subject`',
      '<p><code>a_b c user_<wbr>ref_<wbr>from_<wbr>subject</code></p>',
    ],
    [
      'code with a URL, which may break',
      '`https://a.example/<b>/c`',
      '<p><code>https://a.example/<wbr>&#60;b&#62;/<wbr>c</code></p>',
    ],
    [
      'code with options, which do not break',
      '`countersign revoke-user -- --site a`',
      '<p><code>countersign revoke-user <span class="option">--</span> <span class="option">--site</span> a</code></p>',
    ],
    ['code around a backtick', '`` a`b ``', '<p><code>a`b</code></p>'],
    ['a link', '[a `b`](c.md#d)', '<p><a href="c.md#d">a <code>b</code></a></p>'],
    [
      'an address',
      '<https://a.example/b?c&d>',
      '<p><a href="https://a.example/b?c&#38;d">https://a.example/b?c&#38;d</a></p>',
    ],
    [
      'a picture',
      '![a "b"](c.svg)',
      '<p class="picture"><img src="c.svg" alt="a &#34;b&#34;" loading="lazy"></p>',
    ],
    [
      'a picture in two versions',
      '<picture>\n<source media="(prefers-color-scheme: dark)" srcset="d.png">\n<img src="l.png" alt="a, b">\n</picture>',
      '<p class="picture"><picture><source media="(prefers-color-scheme: dark)" srcset="d.png"><img src="l.png" alt="a, b" loading="lazy"></picture></p>',
    ],
    [
      'A6: no other pictures',
      '<picture>\n<img src="l.png" alt="a" onerror="b()">\n</picture>',
      '&#60;picture&#62;\n&#60;img src=&#34;l.png&#34; alt=&#34;a&#34; onerror=&#34;b()&#34;&#62;\n&#60;/picture&#62;',
    ],
    ['what is escaped', '\\*a\\* and sqlite:&lt;file>', '<p>*a* and sqlite:&lt;file&#62;</p>'],
    ['a list of lines that go on', '- a\n  b\n- c', '<ul>\n<li>a\nb</li>\n<li>c</li>\n</ul>'],
    [
      'a list in a list',
      '1. a\n   - b\n2. c',
      '<ol>\n<li>a<ul>\n<li>b</li>\n</ul>\n</li>\n<li>c</li>\n</ol>',
    ],
    [
      'a number at the begin of a line',
      'at most\n200. And\n- b\n2. c',
      '<p>at most\n200. And</p>\n<ul>\n<li>b</li>\n</ul>\n<ol start="2">\n<li>c</li>\n</ol>',
    ],
    ['a quote', '> a\n> b', '<blockquote>\n<p>a\nb</p>\n</blockquote>'],
    ['A6: no comments', 'a\n\n<!-- b\n\nc -->\n\ne', '<p>a</p>\n<p>e</p>'],
    ['A6: a comment that is never closed', '<!-- a\nb', '&#60;!-- a\nb'],
    ['A6: anchors', '<a id="b_c"></a>`b_c`', '<p><a id="b_c"></a><code>b_c</code></p>'],
    [
      'A6: no other tags',
      '<a id="b" onclick="c"></a><a id="&"></a><b></b>',
      '<p>&#60;a id=&#34;b&#34; onclick=&#34;c&#34;&#62;&#60;/a&#62;&#60;a id=&#34;&#38;&#34;&#62;&#60;/a&#62;&#60;b&#62;&#60;/b&#62;</p>',
    ],
    ['a paragraph before a list', 'a\n- b', '<p>a</p>\n<ul>\n<li>b</li>\n</ul>'],
  ])('has %s', (_, text, markup) => {
    expect(rendered(text)).toBe(markup)
  })

  test('has tables, whose cells may hold escaped bars', () => {
    const markup = rendered('| a | b |\n|---|:-:|\n| `c\\|d` | **e** |\n| f |')
    expect(markup).toContain('<th scope="col">A</th><th scope="col">B</th>')
    expect(markup).toContain(
      '<tr><td><code>c|d</code></td><td data-label="B"><strong>e</strong></td></tr>\n<tr><td>f</td><td data-label="B"></td></tr>',
    )
  })

  test('has code blocks, in which nothing is looked at', () => {
    expect(rendered('```sh two\na <b>\n# no\n\n- c\n```\nd')).toBe(
      '<div class="code"><div class="code-head"><span class="name">Shell</span></div><pre class="wrap" tabindex="0" role="group" aria-label="Shell"><code>a &lt;b&gt;\n<span class="c"># no</span>\n\n- c</code></pre></div>\n<p>d</p>',
    )
    expect(rendered('```\nnever closed')).toContain('<code>never closed</code>')
  })
})

/** The tags and attributes that the renderer itself writes. */
const OURS =
  /<\/?(?:p|h[1-6]|ul|ol|li|pre|code|blockquote|strong|em|del|br|hr|a|img|div|table|thead|tbody|tr|th|td|span|wbr)(?: (?:id|start|href|src|alt|class|tabindex|role|aria-label|scope|loading|data-label)="[^"<>]*")*>/g

describe('A document that wants to run something', () => {
  test.each([
    '<script>alert(1)</script>',
    '<img src=x onerror=alert(1)>',
    '# <svg onload=alert(1)>',
    '[a](javascript:alert(1))',
    '[a]("onmouseover="alert(1))',
    '![" onerror="alert(1)](a.svg)',
    '[<b onclick=alert(1)>](a)',
    '| <script> | b |\n|---|---|\n| </td><script>alert(1)</script> | `</code><script>` |',
    '```"><script>alert(1)</script>\n</code></pre><script>alert(1)</script>\n```',
    '- <iframe src=//evil.example>\n  <style>*{}</style>',
    '&lt;script&gt;alert(1)&lt;/script&gt;',
    '`<b>` **<script>** *<script>* > <script>',
    '<https://a.example/"onclick="alert(1)>',
    '<!-- --><base href=//evil.example>',
  ])('comes out as text: %s', (text) => {
    const rest = rendered(text).replaceAll(OURS, '')
    expect(rest).not.toMatch(/[<>]/)
    expect(rendered(text)).not.toMatch(/href="javascript/)
  })

  test('comes out as text, whatever it says', () => {
    const piece = fc.constantFrom(
      '<',
      '>',
      '"',
      "'",
      '&',
      '`',
      '```',
      '*',
      '**',
      '[',
      ']',
      '(',
      ')',
      '|',
      '\n',
      '- ',
      '# ',
      '> ',
      '  ',
      '|---|',
      '1. ',
      '!',
      '\\',
      'a',
      'https://',
      '<script>',
      ' on=',
    )
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 60 }), (pieces) => {
        expect(rendered(pieces.join('')).replaceAll(OURS, '')).not.toMatch(/[<>]/)
      }),
      { numRuns: 2000 },
    )
  })
})
