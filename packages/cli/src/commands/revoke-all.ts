import { UsageError, type Verb } from '../command.ts'
import { readTextFrom } from '../input/secrets.ts'
import { previewRemoval } from '../service/preview-text.ts'
import { connectCutOff, printTargets, REVOCATION_OPTIONS } from '../service/propagation.ts'
import { confirmRemoval } from '../terminal/confirm.ts'

const TARGETS_MAX = 200

/** One line of the file: an id that says what it is, or the site's own id of a user. */
function toTarget(line: string) {
  // As a user id it would end no access, and the token would stay valid.
  if (/^svc_(?:at|sk)_/.test(line))
    throw new UsageError(
      'A line has a token or a key instead of an id. For tokens that you have, use revoke-token; for keys, keys delete.',
    )
  if (line.startsWith('did:service:')) return { ppid: line }
  if (line.startsWith('cred_')) return { credential_id: line }
  return line.startsWith('tok_') ? { token_id: line } : { user_ref: line }
}

export const revokeAll: Verb = {
  words: [['[file]', 'a file with one target in each line; default: standard input']],
  shares: ['site', 'service', 'removal'],
  options: REVOCATION_OPTIONS,
  examples: [
    ['countersign revoke-all targets.txt --reason "breach" --yes --wait 5', 'revoke all that the file names'],
    ['countersign revoke-all targets.txt --dry-run', 'count what would end'],
  ],
  about: [
    `Revokes up to ${TARGETS_MAX} users, credentials and bearer tokens in one transaction: all of them, or none. A line is did:service:ppid_… (a user), cred_… (a credential), tok_… (a token, by its id), or your own id of a user. Empty lines and lines that begin with # are ignored. For tokens that you have, use revoke-token.`,
    'The exit code is 3 when a token was unknown or expired, and with --wait when a connected verifier has not confirmed in time; the revocations are in force in any case.',
  ],
  async run(given, at) {
    const text = await readTextFrom(given.words[0] ?? '-', 'the targets')
    const lines = text.split('\n').map((line) => line.trim())
    const targets = lines.filter((line) => line !== '' && !line.startsWith('#')).map(toTarget)
    if (targets.length === 0) throw new UsageError('The file names no targets. Write one in each line.')
    if (targets.length > TARGETS_MAX)
      throw new UsageError(
        `The file names ${targets.length} targets, and one request can revoke ${TARGETS_MAX}. Split the file.`,
      )
    const revoker = await connectCutOff(given, at)
    const { client, site_id, options } = revoker
    const { details, plan } = await previewRemoval(given, client, site_id, {
      type: 'revoke_targets',
      targets,
    })
    const answer = await confirmRemoval(given, at, {
      act: `revoke ${targets.length} ${targets.length === 1 ? 'target' : 'targets'} at ${site_id}`,
      plan: { action: 'revoke-all', site_id, targets, ...plan },
      details,
    })
    if (answer !== undefined) return answer
    const reason = given.text('reason')
    return printTargets(revoker, at, await client.revokeTargets({ site_id, targets, reason }, options))
  },
}
