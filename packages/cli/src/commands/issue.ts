import { type Given, UsageError, type Verb } from '../command.ts'
import { parseScopes } from '../input/scopes.ts'
import { connect, requireSite, resolveTarget } from '../service/connection.ts'
import { facts, jsonText, type Terminal } from '../terminal/output.ts'
import { writeNewPrivate } from '../terminal/private-file.ts'

const LIFETIME_SECONDS_DEFAULT = 30 * 86_400
const LIFETIME_SECONDS_MAX = 366 * 86_400

export const issue: Verb = {
  shares: ['site', 'service'],
  options: [
    ['--user-ref <text>', 'your own name of the user; it is not kept'],
    ['--ppid <ppid>', 'the user’s name at the site, in place of --user-ref'],
    ['--scope <scope>', 'what it allows; may be repeated', 'list'],
    ['--permission-id <id>', 'a label of the site’s own'],
    ['--ttl-seconds <n>', 'how long it lives; default: 30 days'],
    ['--holder-key <key>', 'binds it to this key: a did:key, or a file that keygen made'],
    ['--issuer-key <file>', 'sign here with this private key, without a call to the service; needs --ppid'],
    ['--delegable', 'its holder may delegate a narrower one; with --issuer-key only'],
    ['--out <file>', 'write the credential to a new file that only you can read'],
  ],
  examples: [
    ['countersign issue --user-ref alice --scope orders:read > alice.json', 'signed by the service'],
    [
      'countersign issue --user-ref bot --scope orders:read --holder-key bot.jwk --out bot.json',
      'bound to the key of an agent',
    ],
    [
      'countersign issue --issuer-key issuer.jwk --ppid did:service:ppid_… --site shop.example --scope a',
      'signed here, by an issuer that the site trusts',
    ],
  ],
  about: [
    'Prints the signed credential; with --json the whole answer. Without --holder-key, anyone who has the credential can use it: keep it like a password.',
  ],
  async run(given, at) {
    const scope = parseScopes(given)
    if (scope === undefined) throw new UsageError('Missing --scope (repeatable).')
    const issued =
      given.text('issuer-key') === undefined
        ? await issueThere(given, at, scope)
        : await issueHere(given, at, scope)
    const { credential, credential_id, ppid, expires_at, user_revoked } = issued
    const out = given.text('out')
    if (out !== undefined) writeNewPrivate(out, `${jsonText(credential, 2)}\n`)
    if (out === undefined) at.result(issued, () => jsonText(credential, 2))
    else
      at.result(
        { credential_id, ppid, expires_at, ...(user_revoked && { user_revoked }), file: out },
        () => credential_id,
      )
    if (user_revoked)
      at.note(
        'This user is revoked: the credential is rejected everywhere. Reinstate the user, then issue another one.',
      )
    if (!at.isJson)
      at.note(
        facts([
          ['credential', credential_id],
          ['user', ppid],
          ['expires', expires_at],
          ['file', out],
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

async function issueThere(given: Given, at: Terminal, scope: string[]): Promise<Issued> {
  const [userRef, ppid] = [given.text('user-ref'), given.text('ppid')]
  if ((userRef === undefined) === (ppid === undefined))
    throw new UsageError('Give either --user-ref or --ppid.')
  if (given.has('delegable'))
    throw new UsageError('--delegable needs --issuer-key: the service issues none that can be delegated.')
  const { client, siteId } = await connect(given, at)
  const holder = await holderDid(given)
  return client.issueCredential({
    site_id: requireSite({ siteId }),
    ...(userRef === undefined ? { ppid: ppid ?? '' } : { user_ref: userRef }),
    scope,
    permission_id: given.text('permission-id'),
    ttl_seconds: requireLifetime(given),
    holder_key: holder,
  })
}

async function issueHere(given: Given, at: Terminal, scope: string[]): Promise<Issued> {
  const ppid = given.text('ppid')
  if (ppid === undefined || given.text('user-ref') !== undefined)
    throw new UsageError('With --issuer-key the user is named by --ppid.')
  const siteId =
    given.text('site') ?? at.env.COUNTERSIGN_SITE ?? (await resolveTarget(given, at, 'anyone')).siteId
  const { didKey, didKeyMethod, encodeBase64url, formatTime, issueCredential } = await import(
    '@countersign/core'
  )
  const { readPrivateKey } = await import('../credential/read-credential.ts')
  const key = await readPrivateKey(given.text('issuer-key') ?? '')
  const holder = await holderDid(given)
  const nowMs = Math.floor(Date.now() / 1000) * 1000
  const validUntilMs = nowMs + (requireLifetime(given) ?? LIFETIME_SECONDS_DEFAULT) * 1000
  const credentialId = `cred_${encodeBase64url(globalThis.crypto.getRandomValues(new Uint8Array(16)))}`
  const permissionId = given.text('permission-id')
  const grant = {
    credentialId,
    ppid,
    siteId: requireSite({ siteId }),
    scope,
    ...(permissionId === undefined ? {} : { permissionId }),
    ...(holder === undefined ? {} : { holderKey: holder }),
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
  const credential = await issueCredential(grant, signer).catch((fault: unknown) => {
    throw fault instanceof TypeError ? new UsageError(fault.message, { cause: fault }) : fault
  })
  return { credential, credential_id: credentialId, ppid, expires_at: formatTime(validUntilMs) }
}

function requireLifetime(given: Given): number | undefined {
  return given.integer('ttl-seconds', { min: 1, max: LIFETIME_SECONDS_MAX })
}

/** A did:key as it is, or that of the key in a file. */
async function holderDid(given: Given): Promise<string | undefined> {
  const text = given.text('holder-key')
  if (text === undefined || text.startsWith('did:')) return text
  const { didKey } = await import('@countersign/core')
  const { readPrivateKey } = await import('../credential/read-credential.ts')
  return didKey((await readPrivateKey(text)).publicKey)
}
