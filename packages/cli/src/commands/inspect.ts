import { type Given, UsageError, type Verb } from '../command.ts'
import type { NotChecked } from '../credential/check-report.ts'
import { parseScopes } from '../input/scopes.ts'
import { readTextFrom } from '../input/secrets.ts'
import { parseTimeOption } from '../input/times.ts'
import { readDevFile } from '../service/connection.ts'
import { jsonText, type Terminal, visible } from '../terminal/output.ts'

export const inspect: Verb = {
  words: [
    [
      '[file]',
      'the credential: signed JSON, a response that contains it, or the header; or a JWT access token; - for standard input; default: that of data/dev.json',
    ],
  ],
  options: [
    ['--site <site_id>', 'also check that the credential is for this site'],
    ['--scope <scope>', 'also check that the credential has this scope; may be repeated', 'list'],
    ['--at <time>', 'check for this time, such as 2027-01-31T12:00:00Z; default: now'],
    [
      '--did-document <file>',
      'the DID document of the issuer, if the DID does not contain the key (did:web)',
    ],
    ['--document', 'print the signed object as well'],
  ],
  examples: [
    ['countersign inspect alice.json', 'print its claims and the result of each check'],
    [
      'countersign inspect data/credential.header --at 2030-01-01T00:00:00Z',
      'check whether it is still valid then',
    ],
    [
      'pbpaste | countersign inspect - --site shop.example --scope orders:read',
      'check whether it fits this site and scope',
    ],
  ],
  about: [
    'Works offline. It checks the signature with the key in the issuer’s own DID. A valid signature shows who signed, not that a site trusts the issuer, and revocations are unknown. To decide with the data of a service: countersign verify. The exit code is 3 when a check fails.',
    'Of a JWT access token it prints the header and the claims, and checks the expiry. Only a site knows the keys of the issuer.',
  ],
  async run(given, at) {
    const { explain, findRoot, isDenial, readCredentialHeader } = await import('@countersign/core')
    const { toCredentialHeader, parseHeaderObject } = await import('../credential/read-credential.ts')
    const { createOfflineSite } = await import('../credential/offline-site.ts')
    const { checksText, claimsFacts, claimsText, toCheckReport } = await import(
      '../credential/check-report.ts'
    )
    const { findJwt, inspectJwt } = await import('../credential/access-token.ts')
    const text = await loadText(given, at)
    const nowMs = parseTimeOption(given.text('at'), '--at') ?? Date.now()
    const jwt = findJwt(text)
    if (jwt !== undefined) return inspectJwt(jwt, nowMs, at)
    const header = toCredentialHeader(text)
    const read = readCredentialHeader(header)
    const credential = isDenial(read) ? undefined : read.credential
    const site = createOfflineSite(credential, given.text('site'), await parseDocument(given))
    const { parseScopeList } = await import('@countersign/core')
    const scope = parseScopeList(parseScopes(given) ?? [])
    if (scope === undefined) throw new UsageError('--scope must be lower-case scopes such as orders:read')
    const explanation = await explain({ header }, { scope, nowMs }, { site, ageMs: 0, ageMsMax: 0 })
    const root = credential && findRoot(credential)
    const isKeyKnown = root !== undefined && site.issuer(root.issuer) !== undefined
    const checks = toCheckReport(explanation, listUnchecked(given, credential?.holderKey, isKeyKnown))
    const isRejected = checks.some(({ result }) => result === 'denied')
    const isSigned = checks.every(
      ({ check, result }) => (check !== 'signature' && check !== 'delegation') || result === 'passed',
    )
    const document = parseHeaderObject(header)
    const mark = isSigned
      ? `NOT VERIFIED: ${visible(root?.issuer ?? '')} signed this credential. Whether a site trusts this issuer, and whether it is revoked, is unknown.`
      : 'UNVERIFIED: no valid signature covers this text. Anyone can have written it.'
    at.result(
      {
        verified: false,
        signature: isSigned
          ? 'valid'
          : checks.some(({ check, result }) => check === 'signature' && result === 'denied')
            ? 'invalid'
            : 'not_checked',
        claims: credential === undefined ? null : claimsFacts(credential),
        checks,
        ...(given.has('document') ? { document } : {}),
      },
      () =>
        [
          at.paint(isSigned ? 'yellow' : 'red', mark),
          '',
          ...(credential === undefined ? [] : [claimsText(credential, at), '']),
          ...((credential === undefined || given.has('document')) && document !== undefined
            ? [jsonText(document, 2), '']
            : []),
          checksText(checks),
        ].join('\n'),
    )
    return isRejected ? 3 : 0
  },
}

async function loadText(given: Given, at: Terminal): Promise<string> {
  const file = given.words[0]
  if (file !== undefined) return readTextFrom(file, 'the credential')
  const dev = readDevFile(at)
  if (dev === undefined) throw new UsageError('Missing credential. Name a file, or - for standard input.')
  at.note('Using the credential of data/dev.json')
  return JSON.stringify(dev.credential)
}

async function parseDocument(given: Given): Promise<unknown> {
  const file = given.text('did-document')
  if (file === undefined) return undefined
  try {
    return JSON.parse(await readTextFrom(file, 'the DID document'))
  } catch (fault) {
    throw fault instanceof SyntaxError ? new UsageError(`${file} is not JSON`) : fault
  }
}

function listUnchecked(given: Given, holderKey: string | undefined, isKeyKnown: boolean): NotChecked {
  return {
    freshness: 'This check needs a service.',
    revocation: 'This check needs a service.',
    issuer: isKeyKnown
      ? 'Only a site knows whether it trusts the issuer.'
      : 'The DID contains no key. Give --did-document.',
    issuer_limits: 'Only a site knows its limits for the issuer.',
    ...(given.text('site') === undefined ? { site: 'Give --site.' } : {}),
    ...(given.list('scope').length === 0 ? { scope: 'Give --scope.' } : {}),
    ...(holderKey === undefined
      ? {}
      : { holder: 'The holder must sign every request with the key of the credential.' }),
  }
}
