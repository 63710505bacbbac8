import type { Store } from '../../src/store/store.ts'

/**
 * The store of a suite: opened before its tests, closed after them. Every test makes a site of its
 * own.
 */
export type TheStore = () => Store
