import type { ExitCode, Given, Group, Verb } from '../command.ts'
import { readUser, USER_OPTIONS, USER_WORD } from '../input/user.ts'
import { connectSite } from '../service/connection.ts'
import { type PreviewAct, previewText } from '../service/preview-text.ts'
import type { Terminal } from '../terminal/output.ts'

/** Each verb is an act of the same name in the contract. */
export const preview: Group = {
  verbs: {
    user: verb('count what the revocation of a user would end', {
      words: [USER_WORD],
      options: USER_OPTIONS,
      example: 'countersign preview user alice',
      toAct: (given) => ({ type: 'revoke_user', ...readUser(given) }),
    }),
    credential: verb('count what the revocation of a credential would end', {
      words: [['<credential_id>', 'the credential']],
      example: 'countersign preview credential cred_…',
      toAct: (given) => ({ type: 'revoke_credential', credential_id: given.word(0) }),
    }),
    holder: verb('count what the revocation of a holder key would end', {
      words: [['<thumbprint>', 'the RFC 7638 thumbprint of the key']],
      example: 'countersign preview holder NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs',
      toAct: (given) => ({ type: 'revoke_holder', thumbprint: given.word(0) }),
    }),
    issuer: verb('count what the distrust of an issuer would end', {
      words: [['<issuer>', 'its DID, or the URL of an OAuth issuer']],
      example: 'countersign preview issuer did:web:issuer.example',
      toAct: (given) => ({ type: 'distrust_issuer', issuer: given.word(0) }),
    }),
    key: verb('count what the deletion of an API key would end', {
      words: [['<key_id>', 'key_…, as keys list prints it']],
      example: 'countersign preview key key_01k…',
      toAct: (given) => ({ type: 'delete_key', key_id: given.word(0) }),
    }),
    site: verb('count what the cut-off of the site would end', {
      words: [],
      example: 'countersign preview site --site shop.example',
      toAct: () => ({ type: 'cut_off_site' }),
    }),
  },
}

interface Act {
  readonly words: NonNullable<Verb['words']>
  readonly options?: Verb['options']
  readonly example: string
  readonly toAct: (given: Given) => PreviewAct
}

function verb(
  summary: string,
  { words, options = [], example, toAct }: Act,
): Verb & { readonly summary: string } {
  return {
    summary,
    words,
    options,
    shares: ['site', 'service'],
    examples: [[example, summary]],
    about: ['Changes nothing. Counts only what the service knows.'],
    run: (given, at) => show(given, at, toAct(given)),
  }
}

async function show(given: Given, at: Terminal, act: PreviewAct): Promise<ExitCode> {
  const { client, site_id } = await connectSite(given, at)
  const found = await client.preview({ site_id, act })
  at.result(found, () => previewText(found))
  return 0
}
