import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { CommandError, UsageError, type Verb } from '../command.ts'
import { parseScopes } from '../input/scopes.ts'
import { connectSite } from '../service/connection.ts'
import { type Terminal, visible } from '../terminal/output.ts'
import { openNewPrivate } from '../terminal/private-file.ts'
import { untilStopped } from '../terminal/until-stopped.ts'

/** The headers that a receiver needs to verify the signature and to read the body. */
const FORWARDED_HEADERS = [
  'content-type',
  'webhook-id',
  'webhook-timestamp',
  'webhook-signature',
  'user-agent',
]

export const listen: Verb = {
  shares: ['site', 'service'],
  options: [
    [
      '--forward <url>',
      'forward deliveries to this URL, such as http://localhost:3000/hooks; default: only print them',
    ],
    ['--kinds <kinds>', 'only these kinds, such as user.revoked; may be repeated; default: all', 'list'],
    ['--count <n>', 'stop after n deliveries'],
    ['--out <file>', 'write the secret to a new file that only you can read; default: print it'],
  ],
  examples: [
    [
      'countersign listen --forward http://localhost:3000/hooks',
      'forward deliveries to the program that you develop',
    ],
    ['countersign listen --kinds user.revoked --json', 'print one line of JSON per delivery'],
  ],
  about: [
    'Creates a webhook to a port of this machine, verifies the signature of every delivery, and forwards it unchanged. It returns the status of your program, and deletes the webhook at the end. Only a development service sends to this machine. Your program receives the signature too: give it the secret.',
  ],
  async run(given, at) {
    const forward = given.text('forward')
    if (forward !== undefined && !/^https?:\/\//.test(URL.canParse(forward) ? forward : ''))
      throw new UsageError('--forward must be a URL such as http://localhost:3000/hooks')
    const countMax = given.integer('count', { min: 1, max: 1_000_000_000 }) ?? Number.POSITIVE_INFINITY
    const kinds = parseScopes(given, 'kinds')
    const { client, site_id } = await connectSite(given, at)
    const { verifyWebhook } = await import('@countersign/sdk')
    const out = given.text('out')
    const stop = untilStopped()
    // A delivery may arrive before the response that contains the secret.
    const signedWith = Promise.withResolvers<string>()
    let count = 0
    const server = createServer((request, response) => {
      receive(request).then(
        (status) => {
          response.writeHead(status).end()
          if (count >= countMax) stop.abort()
        },
        (fault: unknown) => {
          at.note(
            visible(
              `A delivery could not be handled: ${fault instanceof Error ? fault.message : String(fault)}`,
            ),
          )
          response.writeHead(500).end()
        },
      )
    })
    const receive = async (request: IncomingMessage): Promise<number> => {
      const body = new Uint8Array(await buffer(request))
      const event = await verifyWebhook({
        secret: await signedWith.promise,
        headers: request.headers,
        body,
      }).catch((fault: Error) => fault)
      if (event instanceof Error) {
        at.note(visible(`Rejected a delivery: ${event.message}`))
        return 400
      }
      count++
      const { id, type, data, timestamp } = event
      const passed = forward === undefined ? undefined : await forwardDelivery(forward, request, body)
      const outcome = passed === undefined ? '' : `  → ${passed.status ?? passed.why}, ${passed.ms} ms`
      at.item(
        { event: type, id, entry: data, ...(passed === undefined ? {} : { forwarded: passed }) },
        () => `${timestamp}  ${type.padEnd(18)}  ${id}${outcome}`,
      )
      return passed === undefined ? 204 : (passed.status ?? 502)
    }
    await new Promise<void>((resolve, reject) => server.once('error', reject).listen(0, '127.0.0.1', resolve))
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
    try {
      const file = out === undefined ? undefined : openNewPrivate(out)
      const made = await client
        .createWebhook({ site_id, url, ...(kinds && { kinds: kinds as never }) })
        .catch((fault: unknown) => {
          file?.remove()
          return explainForbiddenUrl(fault)
        })
      signedWith.resolve(made.secret)
      try {
        file?.write(`${made.secret}\n`, 'The webhook is deleted again. Choose another name.')
        announce(at, out, { url, webhook_id: made.webhook_id, secret: made.secret, site_id, forward })
        await new Promise<void>((resolve) => {
          if (stop.signal.aborted) resolve()
          stop.signal.addEventListener('abort', () => resolve())
        })
      } finally {
        await client.deleteWebhook({ site_id, webhook_id: made.webhook_id })
        at.note(`Deleted the webhook ${made.webhook_id}.`)
      }
    } finally {
      server.closeAllConnections()
      server.close()
    }
    return 0
  },
}

interface Listening {
  readonly url: string
  readonly webhook_id: string
  readonly secret: string
  readonly site_id: string
  readonly forward: string | undefined
}

function announce(
  at: Terminal,
  out: string | undefined,
  { url, webhook_id, secret, site_id, forward }: Listening,
): void {
  const shown = out === undefined ? { secret } : { file: out }
  if (at.isJson) at.item({ event: 'listening', webhook_id, url, ...shown }, () => '')
  else {
    at.note(
      `Listening for ${site_id}${forward === undefined ? '' : `, forwarding to ${forward}`}. Stop with Ctrl-C.`,
    )
    at.note(out === undefined ? `secret  ${secret}` : `The secret is in ${out}.`)
  }
}

async function forwardDelivery(url: string, { headers }: IncomingMessage, body: Uint8Array<ArrayBuffer>) {
  const kept = FORWARDED_HEADERS.flatMap((name) =>
    typeof headers[name] === 'string' ? [[name, headers[name]] as const] : [],
  )
  const startMs = performance.now()
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: Object.fromEntries(kept),
      body,
      redirect: 'manual',
      signal: AbortSignal.timeout(14_000),
    })
    await response.body?.cancel()
    return { status: response.status, ms: Math.round(performance.now() - startMs) }
  } catch (fault) {
    const { cause } = fault as Error
    const why = cause instanceof Error && 'code' in cause ? String(cause.code) : 'no answer'
    return { why, ms: Math.round(performance.now() - startMs) }
  }
}

function explainForbiddenUrl(fault: unknown): never {
  if (fault instanceof Error && 'code' in fault && fault.code === 'webhook_url_forbidden')
    throw new CommandError(
      'webhook_url_forbidden',
      'This service does not send webhooks to this machine. Use a development service: countersign dev',
    )
  throw fault
}
