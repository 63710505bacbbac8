import type { Client } from '@countersign/sdk'
import { UsageError, type Verb } from '../command.ts'
import { omitUndefined } from '../input/option-values.ts'
import { connectSite } from '../service/connection.ts'
import { PAGE_OPTIONS, printList } from '../service/paging.ts'
import { appliedText, receiptText } from '../service/receipt-text.ts'
import { table } from '../terminal/output.ts'

const LIMIT_DEFAULT = 50

export const receipts: Verb = {
  words: [['[seq]', 'the number of an entry; default: list the receipts, newest first']],
  options: [
    ['--state <state>', 'list only receipts that are complete or waiting'],
    ['--stats <window>', 'print how long verifiers took to apply entries in the last 1h, 24h or 30d'],
    ...PAGE_OPTIONS,
  ],
  shares: ['site', 'service'],
  examples: [
    ['countersign receipts', 'list which verifiers applied the last revocations, and how fast'],
    ['countersign receipts --state waiting', 'list revocations that some verifiers have not applied'],
    ['countersign receipts --stats 24h', 'print how long each verifier took: median, 99 %, slowest'],
    ['countersign receipts 1042 --json > receipt.json', 'save a signed receipt, for verify-receipt'],
  ],
  about: [
    `The service writes a receipt about a second after each entry, and updates it until 24 hours have passed. Lists ${LIMIT_DEFAULT} receipts by default. The exit code for a single one is 3 unless it is complete.`,
    'With --stats, the column until says what was measured: applied is the report of the verifier itself, acknowledged is when its acknowledgement arrived, up to 250 ms later, and mixed has both.',
  ],
  async run(given, at) {
    const state = parseState(given.text('state'))
    const [word] = given.words
    const seq = word === undefined ? undefined : Number(word)
    if (word !== undefined && !/^[1-9]\d{0,14}$/.test(word))
      throw new UsageError('The number of an entry is a whole number, such as 1042.')
    const window = parseWindow(given.text('stats'))
    const { client, site_id } = await connectSite(given, at)
    if (window !== undefined) {
      const stats = await client.propagationStats({ site_id, window })
      at.result(stats, () => statsText(stats))
      return 0
    }
    if (seq !== undefined) {
      const receipt = await client.readReceipt({ site_id, seq })
      at.result(receipt, () => receiptText(receipt))
      return receipt.state === 'complete' ? 0 : 3
    }
    return printList(
      given,
      at,
      'receipts',
      (part) => client.listReceipts({ site_id, ...omitUndefined({ state }), ...part }),
      {
        seq: 'seq',
        at: 'at',
        kind: 'kind',
        state: 'state',
        'applied by': (receipt) => appliedText(receipt),
        'in effect everywhere': 'denied_everywhere_at',
        drill: ({ drill_id }) => (drill_id === null ? null : 'yes'),
      },
      LIMIT_DEFAULT,
    )
  },
}

function parseState(text: string | undefined): 'complete' | 'waiting' | undefined {
  if (text === undefined || text === 'complete' || text === 'waiting') return text
  throw new UsageError('--state must be complete or waiting')
}

type Stats = Awaited<ReturnType<Client['propagationStats']>>

function parseWindow(text: string | undefined): Stats['window'] | undefined {
  if (text === undefined || text === '1h' || text === '24h' || text === '30d') return text
  throw new UsageError('--stats must be 1h, 24h or 30d')
}

function statsText(stats: Stats): string {
  const row = (
    name: string,
    { samples, measure, p50_ms, p99_ms, max_ms }: Omit<Stats['verifiers'][number], 'verifier_id'>,
  ) => [name, samples, p50_ms, p99_ms, max_ms, measure] as const
  return table(
    ['verifier', 'entries', 'median ms', '99 % ms', 'slowest ms', 'until'],
    [
      ...stats.verifiers.map((each) => row(each.verifier_id ?? '(without a name)', each)),
      row(`all since ${stats.from}`, stats),
    ],
  )
}
