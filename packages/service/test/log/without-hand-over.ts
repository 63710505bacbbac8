import { onTestFinished, vi } from 'vitest'
import { CommittedParts } from '../../src/log/committed-parts.ts'

/** In this test, nodes read all entries from the store, as they do with those of other nodes. */
export function withoutHandOver(): void {
  const add = vi.spyOn(CommittedParts.prototype, 'add').mockImplementation(() => undefined)
  onTestFinished(() => {
    add.mockRestore()
  })
}
