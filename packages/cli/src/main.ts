#!/usr/bin/env node
import { requireNode } from './require-node.ts'

requireNode()
// Loaded only now: an older Node does not have it, and would report that instead of its version.
const { enableCompileCache } = await import('node:module')

// From its sources, type-stripping is most of a start; what was stripped is kept with the other
// things that tools keep of a clone.
if (import.meta.url.endsWith('.ts'))
  enableCompileCache(`${import.meta.dirname}/../../../node_modules/.cache/countersign`)

const [{ run }, { createTerminal }, { readGeneralFlags }] = await Promise.all([
  import('./run.ts'),
  import('./terminal/output.ts'),
  import('./terminal/general-flags.ts'),
])
const { argv, env, stdin, stdout, stderr } = process

// A reader that has seen enough, such as head, is no failure.
stdout.on('error', (fault: NodeJS.ErrnoException) => process.exit(fault.code === 'EPIPE' ? 0 : 1))

const words = argv.slice(2)
process.exitCode = await run(
  words,
  createTerminal({ env, stdin, stdout, stderr, ...readGeneralFlags(words, env) }),
)
