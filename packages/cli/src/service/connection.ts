import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Client } from '@countersign/sdk/client'
import { type Given, UsageError } from '../command.ts'
import { omitUndefined } from '../input/option-values.ts'
import { readSecretFrom } from '../input/secrets.ts'
import type { Terminal } from '../terminal/output.ts'

/** The members of `data/dev.json`, which `countersign dev` writes, that are used here. */
export interface DevFile {
  readonly base_url: string
  readonly site_id: string
  readonly operator_key: string
  readonly site_key: string
  readonly credential: Readonly<Record<string, unknown>>
  readonly bound: {
    readonly credential: Readonly<Record<string, unknown>>
    readonly holder_private_jwk: unknown
  }
}

/** The service to call, with the site and the API key. */
export interface Target {
  readonly baseUrl: string
  /** Where the address comes from, for messages: `--url`. */
  readonly urlName: string
  readonly siteId: string | undefined
  readonly apiKey: string | undefined
  /** Only if the service is the one that this file describes. */
  readonly dev: DevFile | undefined
}

/** There is no address of a service. */
export class NoServiceGiven extends UsageError {}

/**
 * Which key the call needs: one of the `site`, one of an `operator`, or for `anyone` none. Only
 * `data/dev.json` has several keys to choose from.
 */
export type Caller = 'site' | 'operator' | 'anyone'

/** Where `countersign dev` has written it. */
const findDevFile = ({ COUNTERSIGN_DATA_DIR: dataDir }: Terminal['env']) =>
  join(dataDir ?? 'data', 'dev.json')

/**
 * Finds the service: from flags, then variables, then the `dev.json` of a development start. Throws
 * a `NoServiceGiven` when there is none, and a `UsageError` for an invalid address or key. `named`
 * is the site if it is an argument of the command.
 */
export async function resolveTarget(
  given: Given,
  at: Terminal,
  caller: Caller,
  named?: string,
): Promise<Target> {
  const { env } = at
  const url = given.text('url') ?? env.COUNTERSIGN_URL
  const urlName =
    given.text('url') !== undefined ? '--url' : url !== undefined ? 'COUNTERSIGN_URL' : findDevFile(env)
  const dev = readDevFile(at)
  const isDev = dev !== undefined && (url === undefined || url.replace(/\/+$/, '') === dev.base_url)
  const baseUrl = url ?? dev?.base_url
  if (baseUrl === undefined)
    throw new NoServiceGiven(
      'No service to call. Give --url, set COUNTERSIGN_URL, or start one for development in this directory: countersign dev',
    )
  if (!isHttpUrl(baseUrl))
    throw new UsageError(`${urlName} must be an http or https URL, such as https://id.example.`)
  const siteId = named ?? findSite(given, env) ?? (isDev ? dev.site_id : undefined)
  const own = await readApiKey(given, env)
  const devKey = isDev ? chooseDevKey(dev, caller, siteId) : undefined
  if (isDev && (url === undefined || own === undefined))
    at.note(
      `Using ${findDevFile(env)}: ${dev.base_url}, site ${siteId}${own === undefined ? `, ${devKey?.name} key` : ''}`,
    )
  return { baseUrl, urlName, siteId, apiKey: own ?? devKey?.secret, dev: isDev ? dev : undefined }
}

function isHttpUrl(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)
}

/** Finds the service and creates a client for it. Makes no call yet. */
export async function connect(
  given: Given,
  at: Terminal,
  caller: Caller = 'site',
  named?: string,
): Promise<Target & { readonly client: Client }> {
  const target = await resolveTarget(given, at, caller, named)
  const { createClient } = await import('@countersign/sdk/client')
  const { baseUrl, urlName, apiKey } = target
  try {
    return { ...target, client: createClient({ baseUrl, ...omitUndefined({ apiKey }) }) }
  } catch (fault) {
    throw fault instanceof TypeError ? new UsageError(explainOption(fault.message, urlName)) : fault
  }
}

/** The SDK names its own options. Users of the command line know flags and variables instead. */
function explainOption(message: string, urlName: string): string {
  return message
    .replace(/^baseUrl must be https;.*$/, `${urlName} must be https. http is only for this machine.`)
    .replace(/^baseUrl\b/, urlName)
    .replace(/^apiKey\b/, 'The API key')
}

/** A client, and the site of the call. Throws a `UsageError` when no site was given. */
export async function connectSite(given: Given, at: Terminal, named?: string) {
  const target = await connect(given, at, 'site', named)
  return { ...target, site_id: requireSite(target) }
}

/** Throws a `UsageError` when no site was given. */
export function requireSite({ siteId }: Pick<Target, 'siteId'>): string {
  if (siteId === undefined) throw new UsageError('Missing site. Give --site, or set COUNTERSIGN_SITE.')
  return siteId
}

/** Reports an invalid argument of an SDK or core function as a usage error. */
export function orUsageError<T>(make: () => T): T {
  try {
    return make()
  } catch (fault) {
    return rejectUsage(fault)
  }
}

/** The same for a promise: `.catch(rejectUsage)`. */
export function rejectUsage(fault: unknown): never {
  throw fault instanceof TypeError || fault instanceof RangeError
    ? new UsageError(fault.message, { cause: fault })
    : fault
}

function findSite(given: Given, env: Terminal['env']): string | undefined {
  return given.text('site') ?? env.COUNTERSIGN_SITE
}

async function readApiKey(
  given: Given,
  { COUNTERSIGN_API_KEY: key, COUNTERSIGN_API_KEY_FILE: keyFile }: Terminal['env'],
) {
  const file = given.text('api-key-file')
  if (file !== undefined) return readSecretFrom(file, 'the API key')
  if (key !== undefined && keyFile !== undefined)
    throw new UsageError('COUNTERSIGN_API_KEY and COUNTERSIGN_API_KEY_FILE are both set; set one of them')
  if (keyFile !== undefined) return readSecretFrom(keyFile, 'the API key')
  return key
}

/** Prefers the key of the demo site, so that a mistake affects only that site. */
function chooseDevKey(
  dev: DevFile,
  caller: Caller,
  siteId: string | undefined,
): { readonly name: string; readonly secret: string } {
  const isOperator = caller === 'operator' || siteId !== dev.site_id
  return isOperator ? { name: 'operator', secret: dev.operator_key } : { name: 'site', secret: dev.site_key }
}

/**
 * Reads the `dev.json` of `COUNTERSIGN_DATA_DIR`, or of `data` in this directory, if it exists. It
 * is used only for a service on this machine: a downloaded directory must not be able to send
 * credentials to another server.
 */
export function readDevFile(at: Terminal): DevFile | undefined {
  const file = findDevFile(at.env)
  let dev: Partial<DevFile>
  try {
    dev = JSON.parse(readFileSync(file, 'utf8'))
  } catch {
    return undefined
  }
  if (/^http:\/\/(?:127\.0\.0\.1|localhost|\[::1\]):\d{1,5}$/.test(String(dev.base_url)))
    return dev as DevFile
  at.note(`${file} is not used: its service is not on this machine.`)
  return undefined
}
