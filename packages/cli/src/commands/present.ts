import { type ExitCode, type Given, UsageError, type Verb } from '../command.ts'
import { omitUndefined } from '../input/option-values.ts'
import { readTextFrom } from '../input/secrets.ts'
import { orUsageError, resolveTarget } from '../service/connection.ts'
import { type Terminal, visible } from '../terminal/output.ts'

export const present: Verb = {
  words: [['<url>', 'the URL to call, or a path of the service']],
  shares: ['credential', 'service'],
  options: [
    [
      '-X, --request <method>',
      'the method; default: POST for the protected route and with --data, otherwise GET',
    ],
    [
      '-H, --header <line>',
      'an additional header, Name: value, or @file with such lines; may be repeated',
      'list',
    ],
    ['-d, --data <text>', 'the body; @file or @- reads it from a file or standard input'],
    ['-i, --include', 'also print the status and the headers'],
    [
      '--exchange',
      'send a short-lived bearer token instead of the credential, for routes that accept only tokens',
    ],
  ],
  examples: [
    ['countersign present /api/protected/action', 'send the demo credential to the reference route'],
    [
      'countersign present https://api.example/orders --credential bot.json --holder-key bot.jwk',
      'send a request that the holder signs',
    ],
    [
      `countersign present /api/protected/action --bound -d '{"action":"ship"}'`,
      'send a body, which the signature covers',
    ],
  ],
  about: [
    'Like curl, with the credential in X-Service-Credential and, for a bound credential, a signature of the request (RFC 9421). Prints the body of the response unchanged. The credential is sent only to the origin of the URL, also after a redirect; plain http is allowed only on this machine. The exit code is 3 when the credential was rejected, and 1 for any other status above 399.',
  ],
  async run(given, at) {
    const target = given.word(0)
    const isPath = target.startsWith('/')
    if (!isPath && !URL.canParse(target))
      throw new UsageError('Invalid URL. Give a URL, or a path of the service such as /api/protected/action')
    const service =
      isPath || given.text('credential') === undefined ? await resolveTarget(given, at, 'anyone') : undefined
    const url = isPath ? new URL(target, service?.baseUrl).href : target
    const [{ agentFetch, readDenial }, { chooseCredential }] = await Promise.all([
      import('@countersign/sdk'),
      import('../credential/read-credential.ts'),
    ])
    const { document, holderKey } = await chooseCredential(given, service?.dev)
    const baseUrl = given.has('exchange')
      ? (service ?? (await resolveTarget(given, at, 'anyone'))).baseUrl
      : undefined
    const send = orUsageError(() =>
      agentFetch({
        credential: document,
        origins: new URL(url).origin,
        ...omitUndefined({ holderKey, exchange: baseUrl === undefined ? undefined : { baseUrl } }),
      }),
    )
    const body = await loadBody(given)
    const method =
      given.text('request') ?? (body !== undefined || url.endsWith('/api/protected/action') ? 'POST' : 'GET')
    const headers = await loadHeaders(given)
    if (body !== undefined && !headers.has('content-type')) headers.set('content-type', 'application/json')
    const response = await send(url, { method, headers, ...omitUndefined({ body }) }).catch(
      (fault: unknown) => reportUnreachable(fault, url),
    )
    const denial = await readDenial(response)
    await print(response, given, at)
    if (denial === undefined) return response.status < 400 ? 0 : 1
    if (!at.isJson) at.note(`Rejected: ${visible(denial.detail)} (${visible(denial.code)})`)
    return response.status === 401 || response.status === 403 || response.status === 400 ? 3 : 1
  },
}

async function print(response: Response, given: Given, at: Terminal): Promise<void> {
  const bytes = new Uint8Array(await response.arrayBuffer())
  const headers = Object.fromEntries(response.headers)
  if (at.isJson) {
    const text = new TextDecoder().decode(bytes)
    at.result({ status: response.status, headers, body: parsed(text) ?? text }, () => '')
    return
  }
  if (given.has('include')) {
    at.line(
      [
        `HTTP ${response.status}`,
        ...Object.entries(headers).map(([name, value]) => visible(`${name}: ${value}`)),
        '',
      ].join('\n'),
    )
  } else at.note(`${response.status} ${response.statusText}`)
  // A pipe gets the bytes unchanged; a terminal gets text without control characters.
  if (process.stdout.isTTY) at.line(visible(new TextDecoder().decode(bytes), { lines: true }))
  else at.raw(bytes)
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

async function loadBody(given: Given): Promise<string | undefined> {
  const data = given.text('data')
  return data?.startsWith('@') ? readTextFrom(data.slice(1), 'the body') : data
}

async function loadHeaders(given: Given): Promise<Headers> {
  const headers = new Headers()
  for (const text of given.list('header')) {
    const lines = text.startsWith('@') ? (await readTextFrom(text.slice(1), 'a header')).split('\n') : [text]
    for (const line of lines.filter((each) => each.trim() !== '')) {
      const [, name, value] = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):\s*(.*)$/.exec(line.trim()) ?? []
      if (name === undefined || value === undefined)
        throw new UsageError('Invalid --header. Write it as Name: value')
      headers.append(name, value)
    }
  }
  return headers
}

async function reportUnreachable(fault: unknown, url: URL | string): Promise<never> {
  const { CommandError } = await import('../command.ts')
  if (fault instanceof Error && fault.name === 'CountersignError') throw fault
  const cause = fault instanceof Error && fault.cause instanceof Error ? fault.cause : undefined
  if (cause === undefined && fault instanceof TypeError) throw new UsageError(fault.message)
  const code = cause !== undefined && 'code' in cause ? ` (${cause.code})` : ''
  const exit: ExitCode = 5
  throw new CommandError(
    'no_answer',
    `No response from ${new URL(url).origin}${code}. Check that the server runs and that the address is right.`,
    exit,
  )
}
