import { type Given, UsageError, type Verb } from '../command.ts'
import { omitUndefined } from '../input/option-values.ts'
import { connectRevoker, printRevocation, REVOCATION_OPTIONS } from '../service/propagation.ts'
import { confirmRemoval } from '../terminal/confirm.ts'

export const revoke: Verb = {
  words: [['[credential_id]', 'cred_…, also one that the service does not know; not needed with --self']],
  shares: ['site', 'service', 'removal', 'credential'],
  options: [
    ['--issuer <url>', 'an OAuth issuer; needs --jti or --session'],
    ['--jti <text>', 'revoke the access token of that issuer with this jti'],
    ['--session <text>', 'end the session at that issuer'],
    ...REVOCATION_OPTIONS,
    ['--self', 'revoke your own credential with itself instead of a key; also a delegated one'],
  ],
  examples: [
    [
      'countersign revoke cred_01k… --reason "agent retired" --yes',
      'revoke one credential; the others stay valid',
    ],
    [
      'countersign revoke --issuer https://idp.example --jti 4f1c… --yes',
      'revoke one access token of an OAuth issuer',
    ],
    [
      'countersign revoke --self --credential helper.json --holder-key helper.jwk --yes',
      'revoke a credential that you no longer need',
    ],
  ],
  about: [
    'A revoked credential is never valid again, and neither is any credential delegated from it. With --wait, the exit code is 3 when a connected verifier has not confirmed in time; the revocation is in force in any case.',
  ],
  async run(given, at) {
    const isSelf = given.has('self')
    const named = readCredentialName(given)
    if (isSelf === (named !== undefined))
      throw new UsageError(
        'Missing credential. Give the id of a credential, or --issuer with --jti or --session, or --self.',
      )
    const revoker = await connectRevoker(given, at)
    const { client, site_id, own, options } = revoker
    const credential = named ?? { credential_id: own?.credentialId ?? '' }
    const { credential_id, jti, session, issuer } = credential
    const what = credential_id ?? `${jti === undefined ? `session ${session}` : `token ${jti}`} of ${issuer}`
    const answer = await confirmRemoval(given, at, {
      act: `revoke ${what} at ${site_id}, permanently`,
      plan: { action: 'revoke', ...credential, site_id },
    })
    if (answer !== undefined) return answer
    const done = await client.revokeCredential(
      { ...credential, site_id, reason: given.text('reason') },
      options,
    )
    return printRevocation(revoker, at, what, done)
  },
}

interface CredentialName {
  readonly credential_id?: string
  readonly issuer?: string
  readonly jti?: string
  readonly session?: string
}

/** Undefined if the command line names none. Throws a `UsageError` if it names several. */
function readCredentialName(given: Given): CredentialName | undefined {
  const [credential_id] = given.words
  const [issuer, jti, session] = [given.text('issuer'), given.text('jti'), given.text('session')]
  const names = [credential_id, jti, session].filter((name) => name !== undefined)
  if (names.length === 0 && issuer === undefined) return undefined
  if (names.length !== 1 || (issuer === undefined) !== (credential_id !== undefined))
    throw new UsageError('Give the id of one credential, or --issuer with either --jti or --session.')
  return omitUndefined({ credential_id, issuer, jti, session })
}
