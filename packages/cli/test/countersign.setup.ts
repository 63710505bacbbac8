import { afterAll } from 'vitest'
import { endHosts } from './countersign.ts'

// Loaded for each file, also where files share their modules.
afterAll(endHosts)
