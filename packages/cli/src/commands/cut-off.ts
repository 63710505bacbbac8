import type { Group } from '../command.ts'
import { previewRemoval } from '../service/preview-text.ts'
import { connectCutOff, printCutOff, REVOCATION_OPTIONS } from '../service/propagation.ts'
import { confirmRemoval } from '../terminal/confirm.ts'

const LATER =
  'What is issued later is accepted. With --wait, the exit code is 3 when a connected verifier has not confirmed in time; the cut-off is in force in any case.'

export const cutOff: Group = {
  verbs: {
    issuer: {
      summary: 'end everything that an issuer has signed so far',
      words: [['<issuer>', 'its DID, or the URL of an OAuth issuer']],
      options: REVOCATION_OPTIONS,
      shares: ['site', 'service', 'removal'],
      examples: [
        [
          'countersign cut-off issuer https://idp.example --reason breach --wait',
          'end all access tokens of an OAuth issuer',
        ],
      ],
      about: [`The issuer stays trusted. ${LATER}`],
      async run(given, at) {
        const issuer = given.word(0)
        const revoker = await connectCutOff(given, at)
        const { client, site_id } = revoker
        const { details, plan } = await previewRemoval(given, client, site_id, {
          type: 'cut_off_issuer',
          issuer,
        })
        const answer = await confirmRemoval(given, at, {
          act: `end everything that ${issuer} has signed for ${site_id} so far`,
          plan: { action: 'cut-off issuer', issuer, site_id, ...plan },
          details,
        })
        if (answer !== undefined) return answer
        const done = await client.cutOffIssuer({ issuer, site_id, reason: given.text('reason') })
        return printCutOff(revoker, at, issuer, done)
      },
    },
    site: {
      summary: 'end everything that was issued for a site so far: the panic button',
      words: [['<site_id>', 'the site; there is no default']],
      options: REVOCATION_OPTIONS,
      shares: ['service', 'removal'],
      examples: [
        ['countersign cut-off site shop.example --reason breach --wait', 'end all access of all users'],
      ],
      about: [
        `Ends all credentials, access tokens, sign-ins and offers of the site. All users need new credentials. Needs a key with site:admin. ${LATER}`,
      ],
      async run(given, at) {
        const revoker = await connectCutOff(given, at, given.word(0))
        const { client, site_id } = revoker
        const { details, plan } = await previewRemoval(given, client, site_id, { type: 'cut_off_site' })
        const answer = await confirmRemoval(given, at, {
          act: `end all access of all users at ${site_id}`,
          plan: { action: 'cut-off site', site_id, ...plan },
          details,
        })
        if (answer !== undefined) return answer
        const order = { site_id, confirm: site_id, reason: given.text('reason') }
        return printCutOff(revoker, at, site_id, await client.cutOffSite(order))
      },
    },
  },
}
