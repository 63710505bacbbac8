import type { RouteAnswer } from '../answer.ts'
import { assets } from './assets.ts'
import { type Html, html } from './html.ts'
import { MARK } from './mark.ts'
import type { Messages } from './messages.ts'

export interface HostedPage {
  readonly messages: Messages
  readonly title: string
  readonly content: Html
  /** The script of `browser/` that makes the page work, and its data. */
  readonly script?: { readonly name: 'sign-in' | 'wallet'; readonly data: object }
  /** Where a form of the page may lead besides this origin: browsers look at redirects too. */
  readonly formTarget?: URL
}

/**
 * The layout of all pages for users, including error pages. Only our own scripts may run.
 */
export function hostedPage({
  messages,
  title,
  content,
  script,
  formTarget,
}: HostedPage): Omit<RouteAnswer, 'status'> & { body: string } {
  const { lang, dir, common } = messages
  const { markup } = html`<!doctype html>
<html lang="${lang}" dir="${dir}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<title>${title} · ${common.product}</title>
<link rel="stylesheet" href="${assets().path('hosted.css')}">
${
  script === undefined
    ? ''
    : html`<noscript><link rel="stylesheet" href="${assets().path('no-script.css')}"></noscript>
<script type="module" src="${assets().path(script.name)}"></script>`
}
</head>
<body>
<a class="skip" href="#content">${common.skip}</a>
<header><span class="mark">${MARK}${common.product}</span></header>
<main id="content" tabindex="-1">
${content}
</main>
${script === undefined ? '' : html`<template id="data">${JSON.stringify({ ...script.data, messages: selectMessages(messages, script.name) })}</template>`}
</body>
</html>
`
  return {
    contentType: 'text/html; charset=utf-8',
    headers: { ...pageHeaders, 'content-security-policy': policy(script, formTarget) },
    body: markup,
  }
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

function policy(script: HostedPage['script'], formTarget: URL | undefined): string {
  return [
    "default-src 'none'",
    "style-src 'self'",
    ...(script === undefined
      ? []
      : [
          "script-src 'self'",
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

function selectMessages(messages: Messages, name: 'sign-in' | 'wallet'): object {
  const { lang, common, verbs, problems } = messages
  return { lang, common, verbs, problems, page: name === 'wallet' ? messages.wallet : messages.signIn }
}
