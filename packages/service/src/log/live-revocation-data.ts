import type { RevocationData, SignatureCache, SiteView } from '@countersign/core'

/** The data of one view, whose age goes on. */
export class LiveRevocationData implements RevocationData {
  readonly site: SiteView
  readonly ageMsMax: number
  readonly signatures?: SignatureCache
  readonly #ageMs: () => number

  constructor(site: SiteView, ageMs: () => number, ageMsMax: number, signatures: SignatureCache | undefined) {
    this.site = site
    this.#ageMs = ageMs
    this.ageMsMax = ageMsMax
    if (signatures !== undefined) this.signatures = signatures
  }

  get ageMs(): number {
    return this.#ageMs()
  }
}
