import type { ShownBrand } from '../brand/shown-brand.ts'
import { toMonogram, toTone } from '../browser/describe.ts'
import { type Html, html } from './html.ts'
import type { Messages } from './messages.ts'

export interface SiteIdentity {
  readonly siteId: string
  /** Chosen by the site itself. */
  readonly name: string | undefined
  readonly brand?: ShownBrand | undefined
}

/** The name that a site has chosen beside the id that the service vouches for. */
export function identityRow({ siteId, name, brand }: SiteIdentity, { common }: Messages): Html {
  const shown = name || siteId
  const sign =
    brand?.logoPath === undefined
      ? html`<span class="monogram tone-${toTone(siteId)}" aria-hidden="true">${toMonogram(shown)}</span>`
      : html`<img class="logo" src="${brand.logoPath}" alt="" width="44" height="44">`
  return html`<div class="who">${sign}<div><b><bdi>${shown}</bdi></b><span class="verified"><bdi>${siteId}</bdi> <span class="tick">${common.verified}</span></span></div></div>`
}

/** The links of a site at the foot of a page. */
export function brandLinks({ siteId, name, brand }: SiteIdentity, { common }: Messages): Html {
  const { supportUrl, privacyUrl } = brand ?? {}
  return html`${
    supportUrl === undefined
      ? ''
      : html`<a href="${supportUrl}" rel="noreferrer noopener"><span>${fillHtml(common.contact, { site: name || siteId })}</span></a>`
  }${privacyUrl === undefined ? '' : html`<a href="${privacyUrl}" rel="noreferrer noopener">${common.privacy}</a>`}`
}

/** The facts that support asks for. They contain no secrets. */
export function supportDetails(
  facts: readonly (readonly [name: string, value: string])[],
  { common }: Messages,
  isHidden = false,
): Html {
  return html`<details class="support" id="support"${isHidden ? html` hidden` : ''}><summary>${common.support}</summary><dl>${facts.map(
    ([name, value]) => html`<dt>${name}</dt><dd>${value}</dd>`,
  )}</dl><button type="button" class="btn small scripted" id="copy">${common.copy}</button><span id="copied" role="status"></span></details>`
}

/** Site and user names are isolated (`<bdi>`), because they may be written right to left. */
export function fillHtml(text: string, values: Readonly<Record<string, string>>): readonly Html[] {
  return text.split(/(\{\w+\})/).map((part) => {
    const value = values[part.slice(1, -1)]
    return part.startsWith('{') && value !== undefined ? html`<bdi>${value}</bdi>` : html`${part}`
  })
}
