import { UsageError, type Verb } from '../command.ts'
import { connect, requireSite } from '../service/connection.ts'
import { loadHolder } from '../service/holder.ts'
import {
  parseWaitSeconds,
  propagationExit,
  revokedText,
  toCallOptions,
  WAIT_SECONDS_MAX,
  withReceipt,
} from '../service/propagation.ts'
import { confirmRemoval } from '../terminal/confirm.ts'

export const revoke: Verb = {
  words: [['[credential_id]', 'cred_…, also one that the service does not know; not needed with --self']],
  shares: ['site', 'service', 'removal', 'credential'],
  options: [
    ['--reason <text>', 'why, for the audit; never sent to verifiers'],
    [
      '--wait [seconds]',
      `wait until every connected verifier has applied it, at most ${WAIT_SECONDS_MAX} seconds`,
    ],
    ['--self', 'revoke your own credential with itself instead of a key; also a delegated one'],
  ],
  examples: [
    [
      'countersign revoke cred_01k… --reason "agent retired" --yes',
      'revoke one credential; the others stay valid',
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
    if (isSelf === (given.words[0] !== undefined))
      throw new UsageError('Missing credential. Give the id of a credential, or --self, but not both.')
    const waitSeconds = parseWaitSeconds(given)
    const { client, dev, siteId: chosen } = await connect(given, at)
    const own = await loadHolder(given, dev)
    const site_id = own === undefined ? requireSite({ siteId: chosen }) : own.siteId
    const credential_id = own === undefined ? given.word(0) : own.credentialId
    const plan = { action: 'revoke', credential_id, site_id }
    const answer = await confirmRemoval(given, at, {
      act: `revoke ${credential_id} at ${site_id}, permanently`,
      plan,
    })
    if (answer !== undefined) return answer
    const done = await client.revokeCredential(
      { credential_id, site_id, reason: given.text('reason') },
      toCallOptions(own, waitSeconds),
    )
    const revoked = await withReceipt(client, done, { site_id, waitSeconds, own, at })
    at.result(revoked, () => revokedText(credential_id, revoked))
    return propagationExit(revoked, waitSeconds)
  },
}
