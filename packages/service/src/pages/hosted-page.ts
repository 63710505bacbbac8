import type { RouteAnswer } from '../answer.ts'
import { assets, type PageScript } from './assets.ts'
import { languages } from './choose-language.ts'
import { type Html, html } from './html.ts'
import type { Messages } from './messages.ts'
import { SEAL } from './seal.ts'

export interface HostedPage {
  readonly messages: Messages
  readonly title: string
  readonly content: Html
  /** The script of `browser/` that makes the page work, and its data. */
  readonly script?: {
    readonly name: PageScript
    readonly data?: object
    /** Asks for the statuses of what the browser keeps for this site before the script is there. */
    readonly statusesFor?: string
  }
  /** Where a form of the page may lead besides this origin: browsers look at redirects too. */
  readonly formTarget?: URL
  /** The address of this page in another language. Without it there is no menu of languages. */
  readonly toLanguage?: (lang: string) => string
  /** `#rrggbb`: the colour of the site, for its main button. */
  readonly accent?: string | undefined
  /** More links and facts at the foot of the page. */
  readonly footer?: Html
  /** The wallet has a header of its own. */
  readonly isWallet?: boolean
}

export const HELP_PATH = '/docs/guides/for-users'

/**
 * The layout of all pages for users, including error pages. Only our own scripts may run.
 */
export function hostedPage(page: HostedPage): Omit<RouteAnswer, 'status'> & { body: string } {
  const { messages, title, content, script, isWallet = false } = page
  const { lang, dir, common, wallet } = messages
  const menu = languageMenu(page)
  const { markup } = html`<!doctype html>
<html lang="${lang}" dir="${dir}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="theme-color" content="#f6f8f6" media="(prefers-color-scheme: light)">
<meta name="theme-color" content="#0f1412" media="(prefers-color-scheme: dark)">
<meta name="robots" content="noindex">
<title>${title} · Countersign</title>
${inlineScript(script?.statusesFor)}<link rel="stylesheet" href="${assets().path('hosted.css')}">${
    page.accent === undefined
      ? ''
      : html`
<link rel="stylesheet" href="${assets().accent(page.accent)}">`
  }
${
  script === undefined
    ? ''
    : html`<noscript><link rel="stylesheet" href="${assets().path('no-script.css')}"></noscript>
<script type="module" src="${assets().script(script.name, lang)}"></script>`
}
<link rel="icon" type="image/svg+xml" href="${assets().path('icon.svg')}">
${isWallet ? html`<link rel="manifest" href="${assets().path('wallet.webmanifest')}">` : ''}
</head>
<body class="${isWallet ? 'hosted wallet' : 'hosted'}">
<a class="skip" href="#content">${common.skip}</a>
${
  isWallet
    ? html`<header class="top"><div class="top-in"><a class="brand" href="/wallet">${SEAL}${wallet.wallet}</a><nav aria-label="${common.help}"><a href="${HELP_PATH}">${common.help}</a>${menu}</nav></div></header>`
    : ''
}
<main id="content" tabindex="-1">
${content}
</main>
<footer class="foot"><div class="foot-links">${page.footer ?? ''}<a href="${HELP_PATH}">${common.help}</a>${isWallet ? '' : menu}</div><span class="by">${SEAL}${common.securedBy}</span></footer>
${script?.data === undefined ? '' : html`<template id="data">${JSON.stringify(script.data)}</template>`}
</body>
</html>
`
  return {
    contentType: 'text/html; charset=utf-8',
    headers: {
      ...pageHeaders,
      'content-security-policy': policy(page),
      'content-language': lang,
      vary: 'accept-language, cookie',
    },
    body: markup,
  }
}

/** Before style sheets, which scripts wait for. A script is not escaped: it is a text of ours. */
function inlineScript(siteId: string | undefined): Html {
  if (siteId === undefined) return html``
  const { text } = assets().inline
  return html`<script data-site="${siteId}">${{ markup: text }}</script>
`
}

/** Plain links, so that it works without a script. */
function languageMenu({ messages, toLanguage }: HostedPage): Html {
  if (toLanguage === undefined) return html``
  return html`<details class="languages"><summary aria-label="${messages.common.language}: ${messages.name}">${messages.name}</summary><ul>${languages.map(
    ({ lang, name }) =>
      html`<li><a href="${toLanguage(lang)}" lang="${lang}" hreflang="${lang}"${lang === messages.lang ? html` aria-current="true"` : ''}>${name}</a></li>`,
  )}</ul></details>`
}

/**
 * Headers of every sign-in response: no other site may frame it, read it or receive its URL.
 */
export const pageHeaders = {
  'content-security-policy':
    "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
} as const

function policy({ script, formTarget, isWallet = false }: HostedPage): string {
  return [
    "default-src 'none'",
    "style-src 'self'",
    "img-src 'self'",
    ...(isWallet ? ["manifest-src 'self'"] : []),
    ...(script === undefined
      ? []
      : [
          `script-src 'self'${script.statusesFor === undefined ? '' : ` ${assets().inline.source}`}`,
          "connect-src 'self'",
          "require-trusted-types-for 'script'",
          "trusted-types 'none'",
        ]),
    "base-uri 'none'",
    `form-action ${formTarget === undefined ? "'none'" : `'self' ${toSource(formTarget)}`}`,
    "frame-ancestors 'none'",
  ].join('; ')
}

/** CSP §2.3.1 cannot express IPv6 addresses, so their scheme is used instead. */
function toSource({ origin, protocol, hostname }: URL): string {
  return hostname.startsWith('[') ? protocol : origin
}
