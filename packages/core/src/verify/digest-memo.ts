/**
 * The digests of some header texts, so that a text which comes again and again is compared instead
 * of hashed: a tenth of the time. It answers only for exactly the same text. Whatever displaces an
 * entry costs one hash and is never wrong.
 *
 * Texts are found by a few of their characters. From which place on those are taken is chosen at
 * random for each memo, so that an attacker cannot make texts that all want the same slot.
 */
export class DigestMemo {
  private readonly texts: (string | undefined)[]
  private readonly digests: (string | undefined)[]
  private readonly offset = Math.floor(Math.random() * SAMPLED)
  private readonly seed = Math.floor(Math.random() * 2 ** 32)

  constructor(slots: number) {
    this.texts = new Array<string | undefined>(slots).fill(undefined)
    this.digests = new Array<string | undefined>(slots).fill(undefined)
  }

  find(text: string): string | undefined {
    const slot = this.slotOf(text)
    return this.texts[slot] === text ? this.digests[slot] : undefined
  }

  keep(text: string, digest: string): void {
    if (text.length > TEXT_CHARS_MAX) return
    const slot = this.slotOf(text)
    this.texts[slot] = text
    this.digests[slot] = digest
  }

  clear(): void {
    this.texts.fill(undefined)
    this.digests.fill(undefined)
  }

  private slotOf(text: string): number {
    const step = Math.max(1, Math.floor(text.length / SAMPLED))
    let mixed = this.seed ^ text.length
    for (let i = Math.min(this.offset, step - 1); i < text.length; i += step)
      mixed = Math.imul(mixed ^ text.charCodeAt(i), 0x01000193)
    return ((mixed ^ (mixed >>> 15)) >>> 0) % this.texts.length
  }
}

const SAMPLED = 24
/** Long ones, chains of delegation, are seldom, and a slot must not hold much. */
const TEXT_CHARS_MAX = 4096
