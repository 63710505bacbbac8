import type { DrillReport, FeedKeyFault, PublicKey, SignedReceipt } from '@countersign/core'
import { CommandError, type ExitCode, type Given, UsageError, type Verb } from '../command.ts'
import { readTextFrom } from '../input/secrets.ts'
import { connect } from '../service/connection.ts'
import { receiptText } from '../service/receipt-text.ts'
import type { Terminal } from '../terminal/output.ts'

const BYTES_MAX = 1 << 20

const FAULTS: Readonly<Record<FeedKeyFault, string>> = {
  unknown:
    'The service does not publish the key that signed it: it is of another service, or an old key. Give the key with --feed-key.',
  compromised:
    'The key that signed it was marked as compromised later, so its thief could have signed it. It proves nothing.',
  unreadable: 'The feed keys in the discovery of the service cannot be read.',
}

type FindKey = (kid: string) => Promise<PublicKey | FeedKeyFault>

export const verifyReceipt: Verb = {
  words: [['<file>', 'a receipt or the report of a drill, as saved with --json; - for standard input']],
  options: [
    [
      '--feed-key <key>',
      'the feed key that signed, z6Mk…: works offline; may be repeated; default: the keys of the service',
      'list',
    ],
  ],
  shares: ['service'],
  examples: [
    ['countersign verify-receipt receipt.json', 'check its signature with the feed keys of the service'],
    ['countersign verify-receipt receipt.json --feed-key z6Mk…', 'check it offline'],
    ['countersign receipts 1042 --json | countersign verify-receipt -', 'check one without saving it'],
  ],
  about: [
    'Checks that the service signed exactly this receipt: one changed character makes it invalid. The exit code is 3 when it is invalid. The signature covers what verifiers have acknowledged to the service, which is their own statement. Without --feed-key the keys are as trustworthy as the connection to the service.',
  ],
  async run(given, at) {
    const { parseDrillReport, parseReceipt } = await import('@countersign/core')
    const value = await loadJson(given)
    const receipt = parseReceipt(value)
    const report = receipt === undefined ? parseDrillReport(value) : undefined
    if (receipt === undefined && report === undefined)
      return printInvalid(
        at,
        'This is neither a receipt nor the report of a drill, or it was changed. If a newer release of the service wrote it, use that release of countersign.',
      )
    const findKey = await chooseKeys(given, at)
    const fault =
      receipt === undefined
        ? await checkReport(report as DrillReport, findKey)
        : await checkOne(receipt, findKey)
    if (fault !== undefined) return printInvalid(at, fault)
    const valid = receipt ?? (report as DrillReport).receipt
    at.result(
      { valid: true, type: receipt === undefined ? 'drill' : 'receipt', ...(receipt ?? report) },
      () => `VALID: ${valid.kid} signed this for ${valid.site_id}.\n\n${receiptText(valid)}`,
    )
    return 0
  },
}

function printInvalid(at: Terminal, why: string): ExitCode {
  at.result({ valid: false, why }, () => `INVALID: ${why}`)
  return 3
}

async function loadJson(given: Given): Promise<unknown> {
  const { parseJson } = await import('@countersign/core')
  const text = await readTextFrom(given.word(0), 'the receipt')
  if (text.length > BYTES_MAX) throw new CommandError('too_large', 'A receipt has at most 1 MiB.')
  const parsed = parseJson(text, { depthMax: 8 })
  return 'value' in parsed ? parsed.value : undefined
}

/** Returns what is wrong, or undefined. */
async function checkOne(receipt: SignedReceipt, findKey: FindKey): Promise<string | undefined> {
  const { checkReceipt } = await import('@countersign/core')
  const key = await findKey(receipt.kid)
  if (typeof key === 'string') return FAULTS[key]
  return (await checkReceipt(receipt, key)) ? undefined : 'The signature does not match the text.'
}

async function checkReport(report: DrillReport, findKey: FindKey): Promise<string | undefined> {
  const { checkDrillReport } = await import('@countersign/core')
  const key = await findKey(report.kid)
  if (typeof key === 'string') return FAULTS[key]
  if (!(await checkDrillReport(report, key))) return 'The signature does not match the text.'
  return checkOne(report.receipt, findKey)
}

/** The keys of the command line, or else those of the service. */
async function chooseKeys(given: Given, at: Terminal): Promise<FindKey> {
  const { findReceiptKey, parseFeedKey } = await import('@countersign/core')
  const keys = given.list('feed-key').map((text) => {
    const key = parseFeedKey(text)
    if (key === undefined) throw new UsageError('--feed-key must be an Ed25519 key such as z6Mk…')
    return key
  })
  if (keys.length > 0) return async (kid) => keys.find(({ multikey }) => multikey === kid) ?? 'unknown'
  const { client } = await connect(given, at, 'anyone')
  const discovery: { feed?: { chain?: unknown } } | null = await client.discovery()
  return (kid) => findReceiptKey(discovery?.feed?.chain, kid)
}
