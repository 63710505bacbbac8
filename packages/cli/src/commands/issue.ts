import { type Given, UsageError, type Verb } from '../command.ts'
import { loadHolderDid } from '../input/holder-did.ts'
import { omitUndefined } from '../input/option-values.ts'
import { parseScopes } from '../input/scopes.ts'
import { connectSite, rejectUsage, requireSite, resolveTarget } from '../service/connection.ts'
import { facts, jsonText, type Terminal } from '../terminal/output.ts'
import { printNewSecret } from '../terminal/private-file.ts'

const LIFETIME_SECONDS_DEFAULT = 30 * 86_400
const LIFETIME_SECONDS_MAX = 366 * 86_400

export const issue: Verb = {
  shares: ['site', 'service'],
  options: [
    ['--user-ref <text>', 'your own name for the user; it is not stored'],
    ['--ppid <ppid>', 'the id of the user at the site, instead of --user-ref'],
    ['--scope <scope>', 'a scope to grant; may be repeated', 'list'],
    ['--permission-id <id>', 'a label that the site chooses'],
    ['--ttl-seconds <n>', 'its lifetime; default: 30 days'],
    ['--holder-key <key>', 'bind it to this key: a did:key, or a file that keygen wrote'],
    [
      '--issuer-key <file>',
      'sign on this machine with this private key, without a call to the service; needs --ppid',
    ],
    ['--delegable', 'allow the holder to delegate a narrower one; needs --holder-key'],
    ['--out <file>', 'write the credential to a new file that only you can read'],
  ],
  examples: [
    [
      'countersign issue --user-ref alice --scope orders:read > alice.json',
      'issue a credential that the service signs',
    ],
    [
      'countersign issue --user-ref bot --scope orders:read --holder-key bot.jwk --out bot.json',
      'bind it to the key of an agent',
    ],
    [
      'countersign issue --user-ref bot --scope orders:read --holder-key bot.jwk --delegable --out bot.json',
      'let the agent delegate parts of it to other agents',
    ],
    [
      'countersign issue --issuer-key issuer.jwk --ppid did:service:ppid_… --site shop.example --scope a',
      'sign on this machine, as an issuer that the site trusts',
    ],
  ],
  about: [
    'Prints the signed credential; with --json the whole response. Without --holder-key, anyone who has the credential can use it: treat it like a password.',
  ],
  async run(given, at) {
    const scope = parseScopes(given)
    if (scope === undefined)
      throw new UsageError('Missing --scope. Give at least one, such as --scope orders:read')
    if (given.has('delegable') && given.text('holder-key') === undefined)
      throw new UsageError('--delegable needs --holder-key: the holder signs what it delegates.')
    const issueIt = given.text('issuer-key') === undefined ? issueRemotely : issueLocally
    const { credential_id, ppid, expires_at, user_revoked } = await printNewSecret(
      given,
      at,
      () => issueIt(given, at, scope),
      (issued) => ({
        whole: issued,
        secret: jsonText(issued.credential, 2),
        rest: {
          credential_id: issued.credential_id,
          ppid: issued.ppid,
          expires_at: issued.expires_at,
          ...(issued.user_revoked && { user_revoked: issued.user_revoked }),
        },
        id: issued.credential_id,
      }),
    )
    if (user_revoked)
      at.note(
        'This user is revoked, so the credential is rejected everywhere. Reinstate the user, then issue a new credential.',
      )
    if (!at.isJson)
      at.note(
        facts([
          ['credential', credential_id],
          ['user', ppid],
          ['expires', expires_at],
          ['file', given.text('out')],
        ]),
      )
    return 0
  },
}

interface Issued {
  readonly credential: object
  readonly credential_id: string
  readonly ppid: string
  readonly expires_at: string
  readonly user_revoked?: true | undefined
}

async function issueRemotely(given: Given, at: Terminal, scope: string[]): Promise<Issued> {
  const [userRef, ppid] = [given.text('user-ref'), given.text('ppid')]
  if ((userRef === undefined) === (ppid === undefined))
    throw new UsageError('Give either --user-ref or --ppid.')
  const { client, site_id } = await connectSite(given, at)
  return client.issueCredential({
    site_id,
    ...(userRef === undefined ? { ppid: ppid ?? '' } : { user_ref: userRef }),
    scope,
    permission_id: given.text('permission-id'),
    ttl_seconds: requireLifetime(given),
    holder_key: await loadHolderDid(given.text('holder-key')),
    delegable: given.has('delegable') || undefined,
  })
}

async function issueLocally(given: Given, at: Terminal, scope: string[]): Promise<Issued> {
  const ppid = given.text('ppid')
  if (ppid === undefined || given.text('user-ref') !== undefined)
    throw new UsageError('With --issuer-key, name the user with --ppid.')
  const siteId =
    given.text('site') ?? at.env.COUNTERSIGN_SITE ?? (await resolveTarget(given, at, 'anyone')).siteId
  const { didKey, didKeyMethod, encodeBase64url, formatTime, issueCredential } = await import(
    '@countersign/core'
  )
  const { readPrivateKey } = await import('../credential/read-credential.ts')
  const key = await readPrivateKey(given.text('issuer-key') ?? '')
  const nowMs = Math.floor(Date.now() / 1000) * 1000
  const validUntilMs = nowMs + (requireLifetime(given) ?? LIFETIME_SECONDS_DEFAULT) * 1000
  const credentialId = `cred_${encodeBase64url(globalThis.crypto.getRandomValues(new Uint8Array(16)))}`
  const grant = {
    credentialId,
    ppid,
    siteId: requireSite({ siteId }),
    scope,
    ...omitUndefined({
      permissionId: given.text('permission-id'),
      holderKey: await loadHolderDid(given.text('holder-key')),
    }),
    delegable: given.has('delegable'),
    validFromMs: nowMs,
    validUntilMs,
  }
  const signer = {
    issuer: didKey(key.publicKey),
    verificationMethod: didKeyMethod(key.publicKey),
    key,
    createdMs: nowMs,
  }
  const credential = await issueCredential(grant, signer).catch(rejectUsage)
  return { credential, credential_id: credentialId, ppid, expires_at: formatTime(validUntilMs) }
}

function requireLifetime(given: Given): number | undefined {
  return given.integer('ttl-seconds', { min: 1, max: LIFETIME_SECONDS_MAX })
}
