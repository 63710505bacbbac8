/**
 * Many guards in one process, each with its own connection to the feed, as many small applications
 * would have them. It shows a token to all of them, and says how each has decided.
 */
import { createGuard, type GuardRequest } from '@countersign/sdk'
import { readForkOptions } from './forked.ts'
import type { CrowdAnswer, CrowdOptions, CrowdQuestion } from './guard-crowd-process.ts'

const { baseUrl, siteId, apiKey, name, count } = readForkOptions<CrowdOptions>()
const guards = Array.from({ length: count }, (_, n) =>
  createGuard({ baseUrl, siteId, apiKey, verifierId: `${name}-${n}`, onStateChange: () => {} }),
)
const signals: AbortSignal[] = []

const toRequest = (token: string): GuardRequest => ({
  method: 'GET',
  url: 'http://127.0.0.1/orders',
  header: (field) => (field === 'authorization' ? [`Bearer ${token}`] : []),
})

const answers: Record<CrowdQuestion['ask'], (token: string) => Promise<readonly string[]>> = {
  show: (token) =>
    Promise.all(
      guards.map(async (guard) => {
        const verdict = await guard.verify(toRequest(token), { scope: 'orders:read' })
        return verdict.ok ? 'accepted' : verdict.code
      }),
    ),
  watch: (token) =>
    Promise.all(
      guards.map(async (guard) => {
        const request = toRequest(token)
        const { ok } = await guard.verify(request, { scope: 'orders:read' })
        if (ok) signals.push(guard.signal(request))
        return ok ? 'watched' : 'denied'
      }),
    ),
  signals: async () => signals.map(({ aborted }) => (aborted ? 'aborted' : 'running')),
}

process.on('message', async ({ id, ask, token }: CrowdQuestion) => {
  process.send?.({ id, outcomes: await answers[ask](token) } satisfies CrowdAnswer)
})
await Promise.all(guards.map((guard) => guard.ready()))
process.send?.('ready')
