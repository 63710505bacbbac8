import { begin } from './0001-begin.ts'
import type { Migration } from './migration.ts'

/** In order, numbered from 1 without holes. */
export const migrations: readonly Migration[] = [begin]
