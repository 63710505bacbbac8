import { expect, it } from 'vitest'
import { onEachStore } from './feed/feed-node.ts'

onEachStore('what a node keeps of credentials', (home) => {
  it('is the text of none for longer than until its next look at the log (A236)', {
    tags: 'long',
  }, async () => {
    const { deps } = (await home().node()).service
    deps.signatures.memoize('the text of a credential', 'its digest')
    expect(deps.signatures.findDigest('the text of a credential')).toBe('its digest')
    await expect.poll(() => deps.signatures.findDigest('the text of a credential')).toBeUndefined()
  })
})
