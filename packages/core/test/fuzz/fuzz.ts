import { canonicalJson } from '../../src/encoding/jcs.ts'
import type { JsonObject, JsonValue } from '../../src/encoding/json.ts'
import type { RevocationData } from '../../src/verify/revocation-data.ts'
import { SignatureCache } from '../../src/verify/signature-cache.ts'
import { verify } from '../../src/verify/verify.ts'
import { newChain } from '../chain.ts'
import { createData, createDemand, issue, newParty, PlainSite, trusted } from '../sample.ts'
import { type Corpus, mutations } from './mutate.ts'
import { createRandom } from './random.ts'

export interface FuzzReport {
  readonly tried: number
  /** Mutants with exactly the content that an issuer signed, in another text. They are accepted. */
  readonly unchanged: number
  /** Faults: mutants that were wrongly accepted or that caused an exception. */
  readonly faults: readonly {
    readonly mutation: string
    readonly seed: number
    readonly what: string
    readonly text: string
  }[]
  readonly codes: Readonly<Record<string, number>>
}

/**
 * Mutates valid credentials `count` times and counts the results. A mutant may be accepted only if
 * its canonical form is that of a signed credential. Revocation data and cache are shared by the
 * whole run, so that a wrong cache entry is detected.
 */
export async function fuzz(options: {
  count: number
  seed: number
  onProgress?: (done: number) => void
  /** For the control: a wrong cache, to show that the run detects it. */
  cache?: (honest: SignatureCache) => NonNullable<RevocationData['signatures']>
}): Promise<FuzzReport> {
  const { count, seed, onProgress, cache = (honest: SignatureCache) => honest } = options
  const issuers = [await newParty(), await newParty('P-256')] as const
  const [first, second] = issuers
  const singles = await Promise.all([first, first, second].map((issuer) => issue(issuer)))
  const holder = await newParty()
  singles.push(
    await issue(first, { holderKey: holder.did }),
    await issue(first, { scope: ['orders:refund'] }),
  )
  const { links } = await newChain(first, 3)
  const corpus: Corpus = { singles, chain: links }
  const genuine = new Set([...singles, ...links].map((document) => canonicalJson(document)))
  const site = new PlainSite(...issuers.map((issuer) => trusted(issuer)))
  const data = createData(site, { signatures: cache(new SignatureCache({ capacity: 1024 })) })

  const names = Object.keys(mutations)
  const codes: Record<string, number> = {}
  const faults: FuzzReport['faults'][number][] = []
  let unchanged = 0
  for (let i = 0; i < count; i++) {
    const random = createRandom(seed + i)
    const mutation = names[i % names.length] as string
    const bytes = mutations[mutation]?.(corpus, random) ?? new Uint8Array()
    const answer = await answerTo(bytes)
    codes[answer] = (codes[answer] ?? 0) + 1
    if (answer === 'accepted' && isGenuine(bytes, genuine)) unchanged++
    else if (answer === 'accepted' || answer.startsWith('threw')) {
      faults.push({ mutation, seed: seed + i, what: answer, text: Buffer.from(bytes).toString() })
    }
    if (i % 10_000 === 9_999) onProgress?.(i + 1)
  }
  return { tried: count, unchanged, faults, codes }

  /** Possession is checked last, so all other checks have passed. */
  async function answerTo(bytes: Uint8Array): Promise<string> {
    try {
      const header = Buffer.from(bytes).toString('base64url')
      const verdict = await verify({ header }, createDemand({ scope: [] }), data)
      return verdict.ok || verdict.code === 'proof_required' ? 'accepted' : verdict.code
    } catch (error) {
      return `threw ${error instanceof Error ? error.message : String(error)}`
    }
  }
}

function isGenuine(bytes: Uint8Array, genuine: ReadonlySet<string>): boolean {
  try {
    return genuine.has(canonicalJson(JSON.parse(Buffer.from(bytes).toString()) as JsonValue as JsonObject))
  } catch {
    return false
  }
}
