import { execFileSync } from 'node:child_process'
import { describe, expect, test } from 'vitest'

const OPTIONS =
  "{ baseUrl: 'http://127.0.0.1:1', siteId: 'a.example', apiKey: 'svc_sk_x', onStateChange: () => {} }"

/**
 * Runs a program in a process of its own, in which nothing but the guard could keep the process
 * alive.
 */
function run(program: string): string {
  return execFileSync(
    process.execPath,
    ['--conditions=countersign-source', '--no-warnings', '--input-type=module'],
    {
      input: `import { createGuard } from '@countersign/sdk'\nconst guard = createGuard(${OPTIONS})\n${program}`,
      cwd: new URL('../..', import.meta.url),
      encoding: 'utf8',
      timeout: 60_000,
    },
  )
}

describe('a program that waits for its guard', () => {
  test('gets the rejection of ready, although nothing else keeps the process alive', { tags: 'long' }, () => {
    const printed = run(
      `await guard.ready({ timeoutMs: 300 }).catch(({ name }) => console.log(name)); await guard.close()`,
    )
    expect(printed).toBe('GuardNotReady\n')
  })

  test('ends by itself when it does not wait: control arm', () => {
    expect(run(`guard.isActive; console.log('over')`)).toBe('over\n')
  })
})
