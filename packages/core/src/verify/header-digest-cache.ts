/**
 * The digests of recent header texts, so that a text that is sent again is compared instead of
 * hashed: a tenth of the time. A lookup matches only exactly the same text. A displaced entry costs
 * one hash and never changes a result.
 *
 * The slot is computed from a few characters of the text. Their offset is random for each instance,
 * so that an attacker cannot craft texts that all collide.
 */
export class HeaderDigestCache {
  private readonly texts: (string | undefined)[]
  private readonly digests: (string | undefined)[]
  private readonly offset = Math.floor(Math.random() * SAMPLED)
  private readonly seed = Math.floor(Math.random() * 2 ** 32)

  constructor(slots: number) {
    this.texts = new Array<string | undefined>(slots).fill(undefined)
    this.digests = new Array<string | undefined>(slots).fill(undefined)
  }

  find(text: string): string | undefined {
    const slot = this.selectSlot(text)
    return this.texts[slot] === text ? this.digests[slot] : undefined
  }

  set(text: string, digest: string): void {
    if (text.length > TEXT_CHARS_MAX) return
    const slot = this.selectSlot(text)
    this.texts[slot] = text
    this.digests[slot] = digest
  }

  clear(): void {
    this.texts.fill(undefined)
    this.digests.fill(undefined)
  }

  private selectSlot(text: string): number {
    const step = Math.max(1, Math.floor(text.length / SAMPLED))
    let mixed = this.seed ^ text.length
    for (let i = Math.min(this.offset, step - 1); i < text.length; i += step)
      mixed = Math.imul(mixed ^ text.charCodeAt(i), 0x01000193)
    return ((mixed ^ (mixed >>> 15)) >>> 0) % this.texts.length
  }
}

const SAMPLED = 24
/** Longer headers (delegation chains) are rare, and the memory of a slot has to be bounded. */
const TEXT_CHARS_MAX = 4096
