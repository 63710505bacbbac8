import { assets } from './assets.ts'
import { HELP_PATH, hostedPage } from './hosted-page.ts'
import { html } from './html.ts'
import type { Messages } from './messages.ts'
import { STAMP } from './seal.ts'

/** The script puts the accent of a site in its place. */
const SAMPLE = '#000000'

/** The wallet in a language. */
export function toWalletUrl(lang: string): string {
  return `/wallet?${new URLSearchParams({ ui_locales: lang })}`
}

/**
 * The wallet before its script has looked into it: four views, of which the address selects one.
 * `origin` is the one under which the service knows itself, and under which keys sign.
 */
export function walletPage(origin: string, messages: Messages): ReturnType<typeof hostedPage> {
  const { wallet, common } = messages
  return hostedPage({
    messages,
    title: wallet.title,
    script: { name: 'wallet', data: { origin, accent_path: assets().accent(SAMPLE) } },
    toLanguage: toWalletUrl,
    isWallet: true,
    footer: html`<span id="site-links" class="scripted"></span>`,
    content: html`<noscript><p class="notice bad">${wallet.noScript}</p></noscript>
<p id="slow" class="meta late scripted">${common.slowPage} <a href="">${common.reload}</a></p>
<div id="notice" role="status" tabindex="-1"></div>
<div id="problem" role="alert" tabindex="-1"></div>
<section id="view-list" class="scripted" aria-labelledby="list-title">
<h1 id="list-title" tabindex="-1">${wallet.title}</h1>
<p class="meta">${wallet.lead}</p>
<div id="loading" class="skeleton tall"><span class="unseen" role="status">${wallet.loading}</span></div>
<div id="empty" class="sheet empty" hidden><h2>${wallet.empty}</h2><p>${wallet.emptyNext}</p><a class="btn" href="${HELP_PATH}">${common.help}</a></div>
<div id="passes"></div>
<details id="past" class="past" hidden><summary></summary><div id="past-passes" class="passes"></div><button type="button" class="btn small" id="clear">${wallet.clear}</button></details>
<p id="not-persistent" class="meta" hidden>${wallet.notPersistent} ${wallet.notPersistentNext}</p>
</section>
<section id="view-claim" class="narrow" aria-labelledby="offer-title" hidden>
<div id="offer-site"></div>
<div class="sheet">
<h1 id="offer-title" tabindex="-1">${wallet.offerLoading}</h1>
<div id="offer-details" aria-live="polite"></div>
<div class="stack">
<button type="button" class="btn block primary" id="accept">${wallet.accept}</button>
<button type="button" class="btn block quiet" id="later">${wallet.later}</button>
</div>
<p id="offer-until" class="meta center"></p>
</div>
<p class="meta center">${wallet.unexpected} <a href="${HELP_PATH}">${wallet.whatIsThis}</a></p>
</section>
<section id="view-claimed" class="narrow" aria-labelledby="claimed-title" hidden>
<div id="claimed-site"></div>
<div class="sheet center">${STAMP}
<h1 id="claimed-title" tabindex="-1">${wallet.accepted}</h1>
<p id="claimed-text"></p>
<div class="stack"><a class="btn block primary" id="continue" rel="noreferrer"></a><a class="btn block quiet" href="#list">${wallet.seeAll}</a></div>
</div>
</section>
<section id="view-pass" class="narrow" aria-labelledby="pass-title" hidden></section>
<dialog id="confirm" aria-labelledby="confirm-title" aria-describedby="confirm-text">
<form method="dialog">
<h2 id="confirm-title"></h2>
<div id="confirm-text"></div>
<div class="row">
<button value="no" class="btn" autofocus>${wallet.cancel}</button>
<button value="yes" class="btn danger" id="confirm-yes"></button>
</div>
</form>
</dialog>`,
  })
}
