import { type ExitCode, type Given, UsageError, type Verb } from '../command.ts'
import { readTextFrom } from '../input/secrets.ts'
import { orUsageError, resolveTarget } from '../service/connection.ts'
import { type Terminal, visible } from '../terminal/output.ts'

export const present: Verb = {
  words: [['<url>', 'where to; a path is one of the service itself']],
  shares: ['credential', 'service'],
  options: [
    [
      '-X, --request <method>',
      'the method; default: POST for the protected route and with --data, otherwise GET',
    ],
    [
      '-H, --header <line>',
      'one more header, Name: value, or @file with such lines; may be repeated',
      'list',
    ],
    ['-d, --data <text>', 'a body; @file or @- reads it'],
    ['-i, --include', 'print status and headers too'],
    [
      '--exchange',
      'send a short-lived bearer token in place of the credential, for routes that know nothing else',
    ],
  ],
  examples: [
    ['countersign present /api/protected/action', 'the demo credential at the reference route'],
    [
      'countersign present https://api.example/orders --credential bot.json --holder-key bot.jwk',
      'signed by its holder',
    ],
    [
      `countersign present /api/protected/action --bound -d '{"action":"ship"}'`,
      'with a body, which the signature covers',
    ],
  ],
  about: [
    'Like curl, with the credential in X-Service-Credential and, for a bound one, a signature of the request (RFC 9421). Prints the body of the answer as it came. The credential goes to the origin of the URL and nowhere else, whatever it redirects to; plain http only on this machine. The exit code is 3 when the credential was rejected, 1 for any other status above 399.',
  ],
  async run(given, at) {
    const target = given.word(0)
    const isPath = target.startsWith('/')
    if (!isPath && !URL.canParse(target))
      throw new UsageError('Give a URL, or a path of the service such as /api/protected/action')
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
        ...(holderKey === undefined ? {} : { holderKey }),
        ...(baseUrl === undefined ? {} : { exchange: { baseUrl } }),
      }),
    )
    const body = await loadBody(given)
    const method =
      given.text('request') ?? (body !== undefined || url.endsWith('/api/protected/action') ? 'POST' : 'GET')
    const headers = await loadHeaders(given)
    if (body !== undefined && !headers.has('content-type')) headers.set('content-type', 'application/json')
    const response = await send(url, { method, headers, ...(body === undefined ? {} : { body }) }).catch(
      unreachable,
    )
    const denial = await readDenial(response)
    await print(response, given, at)
    if (denial === undefined) return response.status < 400 ? 0 : 1
    if (!at.isJson) at.note(`Refused: ${visible(denial.detail)} (${visible(denial.code)})`)
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
  // For a pipe as it came; for eyes, so that it cannot write over what stands there.
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
      if (name === undefined || value === undefined) throw new UsageError('A header is given as Name: value')
      headers.append(name, value)
    }
  }
  return headers
}

async function unreachable(fault: unknown): Promise<never> {
  const { CommandError } = await import('../command.ts')
  if (fault instanceof Error && fault.name === 'CountersignError') throw fault
  const cause = fault instanceof Error && fault.cause instanceof Error ? fault.cause : undefined
  if (cause === undefined && fault instanceof TypeError) throw new UsageError(fault.message)
  const code = cause !== undefined && 'code' in cause ? ` (${cause.code})` : ''
  const exit: ExitCode = 5
  throw new CommandError('no_answer', `Nothing answers there${code}. Is the address right?`, exit)
}
