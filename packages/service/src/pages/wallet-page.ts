import { hostedPage } from './hosted-page.ts'
import { html } from './html.ts'
import type { Messages } from './messages.ts'

/**
 * The wallet before its script has looked into it. `origin` is the one under which the service
 * knows itself, and under which keys sign.
 */
export function walletPage(origin: string, messages: Messages): ReturnType<typeof hostedPage> {
  const { wallet, common } = messages
  return hostedPage({
    messages,
    title: wallet.title,
    script: { name: 'wallet', data: { origin } },
    content: html`<h1>${wallet.title}</h1>
<p class="lead">${wallet.lead}</p>
<noscript><p class="notice bad">${wallet.noScript}</p></noscript>
<p id="slow" class="quiet late scripted">${common.slowPage} <a href="">${common.reload}</a></p>
<div id="notice" role="status" tabindex="-1"></div>
<div id="problem" role="alert" tabindex="-1"></div>
<section id="offer" class="card" aria-labelledby="offer-title" hidden>
<h2 id="offer-title">${wallet.offerLoading}</h2>
<div id="offer-details" aria-live="polite"></div>
<p>${wallet.offerLead}</p>
<div class="actions">
<button type="button" class="primary" id="accept">${wallet.accept}</button>
<button type="button" id="later">${wallet.later}</button>
</div>
</section>
<section class="scripted" aria-labelledby="list-title">
<h2 id="list-title" class="over" tabindex="-1">${wallet.list}</h2>
<div id="empty" class="card empty" hidden><p>${wallet.empty}</p><p class="quiet">${wallet.emptyNext}</p></div>
<ul id="credentials" class="credentials"></ul>
</section>
<section class="about" aria-labelledby="keys-title">
<h2 id="keys-title" class="over">${wallet.keysTitle}</h2>
<p class="quiet">${wallet.keys}</p>
</section>
<dialog id="confirm" aria-labelledby="confirm-title" aria-describedby="confirm-warning">
<form method="dialog">
<h2 id="confirm-title"></h2>
<p id="confirm-warning"></p>
<div class="actions">
<button value="yes" class="danger" id="confirm-yes"></button>
<button value="no" autofocus>${wallet.keep}</button>
</div>
</form>
</dialog>`,
  })
}
