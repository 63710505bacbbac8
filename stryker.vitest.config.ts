import { defineConfig } from 'vitest/config'
import { LONG } from './scripts/plain-summary.ts'

/**
 * Mutants are hunted with the tests of the folders that are mutated; vectors, fuzzing and other
 * folders are too slow for thousands of runs.
 */
export default defineConfig({
  test: {
    include: ['packages/core/test/{verify,credential}/**/*.test.ts'],
    pool: 'threads',
    tags: [{ name: LONG }],
  },
})
