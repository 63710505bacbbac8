import type { Client } from '@countersign/sdk'
import { type Given, type Option, UsageError } from '../command.ts'
import { omitUndefined } from './option-values.ts'
import { readTextFrom } from './secrets.ts'

const DAY_SECONDS = 86_400

/** What only OAuth issuers have. */
export const OAUTH_OPTIONS: readonly Option[] = [
  ['--audience <text>', 'accept tokens whose aud has this value; may be repeated', 'list'],
  ['--jwks-uri <url>', 'where its key set is; default: its metadata says it'],
  ['--jwks <file>', 'its key set, which is then never fetched; - for standard input'],
  ['--client-id <id>', 'accept only tokens of this client; may be repeated', 'list'],
  ['--required-claim <name=value>', 'accept only tokens with this claim; may be repeated', 'list'],
  ['--any-token-type', 'also accept tokens without typ at+jwt; needs a required claim or a client'],
  ['--subject-claim <name>', 'the claim that names the user; default: sub'],
  ['--session-claim <name>', 'the claim that names the session, such as sid; default: none'],
  ['--scope-claim <name>', 'the claim with the scopes; default: scope'],
  [
    '--scope-map <theirs=ours>',
    'a scope of the issuer and those of the site, separated by commas; may be repeated',
    'list',
  ],
  ['--user-ref-from-subject', 'the subject is the user_ref of the site'],
  ['--token-ttl-seconds-max <n>', 'reject tokens that live longer; default: 86400'],
  ['--session-ttl-seconds-max <n>', 'how long its sessions last at most; default: 366 days'],
  ['--signals <file>', 'the senders of signals, as a JSON list; - for standard input'],
]

type OAuthIssuer = Extract<Parameters<Client['addIssuer']>[0], { type: 'oauth' }>
type OAuthMembers = Partial<Omit<OAuthIssuer, 'site_id' | 'type' | 'issuer' | 'scope' | 'label'>>

/** Reads these options. Throws a `UsageError` for values that cannot be read. */
export async function readOAuthMembers(given: Given): Promise<OAuthMembers> {
  const members = {
    audience: toList(given.list('audience')),
    jwks_uri: given.text('jwks-uri'),
    jwks: (await readJson(given, 'jwks')) as OAuthMembers['jwks'],
    client_ids: toList(given.list('client-id')),
    required_claims: toRecord(given, 'required-claim', toClaim),
    require_at_jwt: given.has('any-token-type') ? false : undefined,
    subject_claim: given.text('subject-claim'),
    session_claim: given.text('session-claim'),
    scope_claim: given.text('scope-claim'),
    scope_map: toRecord(given, 'scope-map', (text) => text.split(',').filter((scope) => scope !== '')),
    user_ref_from_subject: given.has('user-ref-from-subject') ? true : undefined,
    token_ttl_seconds_max: given.integer('token-ttl-seconds-max', { min: 1, max: DAY_SECONDS }),
    session_ttl_seconds_max: given.integer('session-ttl-seconds-max', { min: 1, max: 366 * DAY_SECONDS }),
    signals: (await readJson(given, 'signals')) as OAuthMembers['signals'],
  }
  return omitUndefined(members) as OAuthMembers
}

function toList(values: readonly string[]): string[] | undefined {
  return values.length === 0 ? undefined : [...values]
}

function toRecord<Value>(
  given: Given,
  flag: string,
  parse: (text: string) => Value,
): Record<string, Value> | undefined {
  const pairs = given.list(flag).map((text) => {
    const end = text.indexOf('=')
    if (end < 1) throw new UsageError(`--${flag} must have the form name=value`)
    return [text.slice(0, end), parse(text.slice(end + 1))] as const
  })
  return pairs.length === 0 ? undefined : Object.fromEntries(pairs)
}

/** `true`, `false` and whole numbers are not text. */
function toClaim(text: string): string | number | boolean {
  if (text === 'true' || text === 'false') return text === 'true'
  return /^-?(?:0|[1-9]\d{0,14})$/.test(text) ? Number(text) : text
}

async function readJson(given: Given, flag: string): Promise<unknown> {
  const file = given.text(flag)
  if (file === undefined) return undefined
  const text = await readTextFrom(file, `--${flag}`)
  try {
    return JSON.parse(text)
  } catch {
    throw new UsageError(`--${flag} must name a file with JSON`)
  }
}
