#!/usr/bin/env node
import { requireNode } from './require-node.ts'

requireNode()
// Imported after the check, because older versions of Node do not have this function.
const { enableCompileCache } = await import('node:module')

// When run from sources, stripping types takes most of the start-up time, so the result is cached.
if (import.meta.url.endsWith('.ts'))
  enableCompileCache(`${import.meta.dirname}/../../../node_modules/.cache/countersign`)

const [{ run }, { createTerminal }, { readGeneralFlags }] = await Promise.all([
  import('./run.ts'),
  import('./terminal/output.ts'),
  import('./terminal/general-flags.ts'),
])
const { argv, env, stdin, stdout, stderr } = process

// A reader such as head closes the pipe when it has read enough. That is not an error.
stdout.on('error', (fault: NodeJS.ErrnoException) => process.exit(fault.code === 'EPIPE' ? 0 : 1))

const words = argv.slice(2)
process.exitCode = await run(
  words,
  createTerminal({ env, stdin, stdout, stderr, ...readGeneralFlags(words, env) }),
)
