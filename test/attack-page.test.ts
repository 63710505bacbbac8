import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { attackPageText } from '../scripts/attack-page.ts'

test('docs/attacks.md lists the numbers in the names of the tests; after a change run: npm run attacks', () => {
  const page = readFileSync(join(import.meta.dirname, '../docs/attacks.md'), 'utf8')
  expect(page).toBe(attackPageText())
})

test('every number of the catalogue that was tested stays tested', () => {
  const numbers = new Set(attackPageText().match(/\bA\d{3}\b/g))
  expect(numbers.size).toBeGreaterThanOrEqual(169)
})
