import { setImmediate as nextTurn } from 'node:timers/promises'
import {
  checkGrounds,
  findRevocation,
  type Ppid,
  type RevocationData,
  type SiteData,
  type SiteId,
  toChainGrounds,
  verify,
} from '@countersign/core'
import { tokenFacts } from '../../access/token-finder.ts'
import type { Deps } from '../../deps.ts'
import { toCredentialName } from '../../store/credential-name.ts'
import type { CredentialFilter, CredentialRow } from '../../store/operations/credentials.ts'
import type { SignInPresentation } from '../../store/operations/sign-ins.ts'
import type { TokenRow } from '../../store/operations/tokens.ts'
import { recheckPresentation } from '../finish-sign-in.ts'
import type { Effect } from './effect.ts'

type Loader<Row> = (after: string | undefined, limit: number) => Promise<readonly Row[]>

export interface Ended<Row> {
  readonly rows: readonly Row[]
  readonly complete: boolean
}

/** How many rows may still be read. */
interface Budget {
  left: number
}

/** Rows that are read for a preview: about 100 ms of work, a page at a time. */
const ROWS_MAX = 10_000
const BATCH = 100

/** The rows of all loaders that `isEnded` accepts, as far as the budget allows. */
async function collect<Row>(
  loaders: readonly Loader<Row>[],
  toName: (row: Row) => string,
  isEnded: (row: Row) => boolean | Promise<boolean>,
  budget: Budget,
): Promise<Ended<Row>> {
  const ended = new Map<string, Row>()
  for (const load of loaders) {
    for (let after: string | undefined; ; ) {
      if (budget.left <= 0) return { rows: [...ended.values()], complete: false }
      const limit = Math.min(BATCH, budget.left)
      const page = await load(after, limit)
      for (const row of page) if (await isEnded(row)) ended.set(toName(row), row)
      budget.left -= page.length
      // Also after a short page: there may be hundreds of loaders.
      await nextTurn()
      const last = page.at(-1)
      if (last === undefined || page.length < limit) break
      after = toName(last)
    }
  }
  return { rows: [...ended.values()], complete: true }
}

/**
 * Sign-ins in progress that would end: the callback and the code are checked like credentials. One
 * budget of rows, as for credentials and tokens.
 */
export async function countEndedSignIns(
  { store }: Pick<Deps, 'store'>,
  siteId: SiteId,
  effect: Effect,
  { before, after }: TwoStates,
  nowMs: number,
): Promise<number> {
  const { ppids, linkIds, isWide } = toNames(effect)
  // A credential may be a parent of those that were presented, so all of them are read.
  const users = isWide || linkIds.length > 0 ? [undefined] : ppids
  const { rows } = await collect(
    users.map(
      (ppid): Loader<SignInPresentation> =>
        (from, limit) =>
          store.livePresentations(siteId, ppid, nowMs, { after: from, limit }),
    ),
    ({ payloadSha256 }) => payloadSha256,
    (row) =>
      recheckPresentation(row, before, nowMs) === undefined &&
      recheckPresentation(row, after, nowMs) !== undefined,
    { left: ROWS_MAX },
  )
  return new Set(rows.map(({ stateSha256 }) => stateSha256)).size
}

/** Offers that would be cancelled, or could not be claimed because the service may not issue. */
export async function countEndedOffers(
  { store, keys }: Pick<Deps, 'store' | 'keys'>,
  siteId: SiteId,
  effect: Effect,
  { before, after }: TwoStates,
  nowMs: number,
): Promise<number> {
  const { issuer, verificationMethod } = keys.signer(nowMs)
  const mayIssue = (site: SiteData) => site.issuer(issuer)?.keys.get(verificationMethod)?.status === 'active'
  if (effect.cutsOffSite || (mayIssue(before) && !mayIssue(after)))
    return store.countOffers(siteId, undefined, nowMs)
  let count = 0
  for (const ppid of toNames(effect).ppids) {
    count += await store.countOffers(siteId, ppid, nowMs)
    await nextTurn()
  }
  return count
}

/** The site now, and as if the act had been done. */
export interface TwoStates {
  readonly before: SiteData
  readonly after: SiteData
}

/** What is looked for, where, and how much may be read. */
interface Search {
  readonly store: Deps['store']
  readonly siteId: SiteId
  readonly effect: Effect
  readonly states: TwoStates
  readonly nowMs: number
  readonly budget: Budget
}

/** Credentials and tokens share one budget. Credentials get half of it, and tokens the rest. */
export async function findEnded(
  { store }: Pick<Deps, 'store'>,
  siteId: SiteId,
  effect: Effect,
  states: TwoStates,
  nowMs: number,
) {
  const budget: Budget = { left: ROWS_MAX / 2 }
  const search: Search = { store, siteId, effect, states, nowMs, budget }
  const credentials = await findEndedCredentials(search)
  budget.left += ROWS_MAX / 2
  const tokens = await findEndedTokens(search)
  return { credentials, tokens }
}

async function findEndedCredentials(search: Search): Promise<Ended<CredentialRow>> {
  const { store, siteId, effect, nowMs, budget } = search
  const { before, after } = search.states
  const byFilter = (filter: CredentialFilter): Loader<CredentialRow>[] =>
    // Those with another stored status are not valid. See `updateStatuses`.
    (['active', 'new'] as const).map(
      (status) => (from, limit) => store.credentials(siteId, { ...filter, status }, { after: from, limit }),
    )
  const { ppids, linkIds, isWide } = toNames(effect)
  const issuer = effect.cutOffIssuer ?? effect.distrusted ?? effect.key?.issuer
  const loaders = [
    ...ppids.flatMap((ppid) => byFilter({ ppid })),
    ...(isWide ? byFilter(issuer === undefined ? {} : { issuer }) : []),
  ]
  let isKeyUnknown = false
  const isEnded = (row: CredentialRow) => {
    const wasValid = isValid(row, before, nowMs)
    // It may have been signed with the key that would end.
    if (effect.key !== undefined && row.issuerKey === undefined && wasValid) isKeyUnknown = true
    return wasValid && !isValid(row, after, nowMs)
  }
  const named = await collect<CredentialRow>(
    linkIds.length === 0
      ? []
      : [(from, limit) => store.credentialsNamed(siteId, { ppids: [], linkIds }, { after: from, limit })],
    ({ credentialId }) => credentialId,
    isEnded,
    budget,
  )
  const found = await collect(loaders, toCredentialName, isEnded, budget)
  const all = new Map([...named.rows, ...found.rows].map((row) => [row.credentialId, row]))
  return { rows: [...all.values()], complete: named.complete && found.complete && !isKeyUnknown }
}

/** Credentials whose key was not recorded are valid if their issuer is trusted. */
function isValid(row: CredentialRow, site: SiteData, nowMs: number): boolean {
  const { ppid, issuer, issuerKey, chain, validUntilMs } = row
  const grounds = { ppid, issuer, ...toChainGrounds(chain), expiresAtMs: validUntilMs }
  if (issuerKey !== undefined) return checkGrounds({ ...grounds, issuerKey }, site, nowMs) === undefined
  const isAllowed = !grounds.isDelegated || site.settings.delegation === 'on'
  const isTrusted = site.issuer(issuer) !== undefined
  return isTrusted && isAllowed && nowMs < validUntilMs && findRevocation(grounds, site) === undefined
}

async function findEndedTokens(search: Search): Promise<Ended<TokenRow>> {
  const { store, siteId, effect, nowMs, budget } = search
  const { before, after } = search.states
  const { ppids, linkIds, isWide } = toNames(effect)
  const sha256s = [...(effect.tokenSha256s ?? [])]
  const loaders: Loader<TokenRow>[] = [
    ...ppids.map(
      (ppid): Loader<TokenRow> =>
        (from, limit) =>
          store.tokens(siteId, { ppid }, { after: from, limit }),
    ),
    ...sha256s.map(
      (sha256): Loader<TokenRow> =>
        (from, limit) =>
          store.tokens(siteId, { sha256 }, { after: from, limit }),
    ),
    ...linkIds.map(
      (linkId): Loader<TokenRow> =>
        (from, limit) =>
          store.tokensOfLink(siteId, linkId, { after: from, limit }),
    ),
    ...(isWide
      ? [((from, limit) => store.tokens(siteId, {}, { after: from, limit })) satisfies Loader<TokenRow>]
      : []),
  ]
  const isAccepted = async (row: TokenRow, site: SiteData) => {
    const data: RevocationData = { site, ageMs: 0, ageMsMax: 1 }
    return (await verify({ token: tokenFacts(row) }, { scope: [], nowMs }, data)).ok
  }
  return collect(
    loaders,
    ({ jti }) => jti,
    async (row) =>
      row.revokedAtMs === undefined && (await isAccepted(row, before)) && !(await isAccepted(row, after)),
    budget,
  )
}

/** The names by which the rows can be found; `isWide`: others may end, too. */
function toNames({ users, signedOut, credentialIds, tokenSha256s, ...rest }: Effect) {
  const ppids: readonly Ppid[] = [...(users ?? []), ...(signedOut ?? [])]
  const isWide =
    rest.holder !== undefined ||
    rest.cutOffIssuer !== undefined ||
    rest.cutsOffSite === true ||
    rest.distrusted !== undefined ||
    rest.key !== undefined ||
    rest.settings !== undefined
  return { ppids, linkIds: [...(credentialIds ?? [])], isWide }
}
