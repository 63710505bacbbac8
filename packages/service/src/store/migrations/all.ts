import { begin } from './0001-begin.ts'
import { timeResets } from './0002-time-resets.ts'
import { webhooks } from './0003-webhooks.ts'
import { signIn } from './0004-sign-in.ts'
import { feedStreams } from './0005-feed-streams.ts'
import { epochs } from './0006-epochs.ts'
import { repeatedClaims } from './0007-repeated-claims.ts'
import { writeProbe } from './0008-write-probe.ts'
import { siteHosts } from './0009-site-hosts.ts'
import { rowMacs } from './0010-row-macs.ts'
import { openSignIns } from './0011-open-sign-ins.ts'
import { leases } from './0012-leases.ts'
import { rowsPutBack } from './0013-rows-put-back.ts'
import { cutOffs } from './0014-cut-offs.ts'
import { signals } from './0015-signals.ts'
import { checkpoints } from './0016-checkpoints.ts'
import { credentialStatuses } from './0017-credential-statuses.ts'
import { retention } from './0018-retention.ts'
import { cutLog } from './0019-cut-log.ts'
import { linksByLink } from './0020-links-by-link.ts'
import { logPages } from './0021-log-pages.ts'
import { auditFilters } from './0022-audit-filters.ts'
import { people } from './0023-people.ts'
import { userHistory } from './0024-user-history.ts'
import { receipts } from './0025-receipts.ts'
import { keyUses } from './0026-key-uses.ts'
import { roster } from './0027-roster.ts'
import { issuerKeys } from './0028-issuer-keys.ts'
import { verdictTallies } from './0029-verdict-tallies.ts'
import { deliveryLists } from './0030-delivery-lists.ts'
import { applyTimes } from './0031-apply-times.ts'
import { credentialSources } from './0032-credential-sources.ts'
import { credentialEnds } from './0033-credential-ends.ts'
import { reportedTimes } from './0034-reported-times.ts'
import { departedReaders } from './0035-departed-readers.ts'
import { passkeys } from './0036-passkeys.ts'
import { identityProvider } from './0037-identity-provider.ts'
import { siteBrands } from './0038-site-brands.ts'
import { announcedPositions } from './0039-announced-positions.ts'
import { fewerCredentialIndexes } from './0040-fewer-credential-indexes.ts'
import { credentialEndsInOrder } from './0041-credential-ends-in-order.ts'
import { oneIndexOfUsers } from './0042-one-index-of-users.ts'
import type { Migration } from './migration.ts'

/** In order, numbered from 1 without gaps. */
export const migrations: readonly Migration[] = [
  begin,
  timeResets,
  webhooks,
  signIn,
  feedStreams,
  epochs,
  repeatedClaims,
  writeProbe,
  siteHosts,
  rowMacs,
  openSignIns,
  leases,
  rowsPutBack,
  cutOffs,
  signals,
  checkpoints,
  credentialStatuses,
  retention,
  cutLog,
  linksByLink,
  logPages,
  auditFilters,
  people,
  userHistory,
  receipts,
  keyUses,
  roster,
  issuerKeys,
  verdictTallies,
  deliveryLists,
  applyTimes,
  credentialSources,
  credentialEnds,
  reportedTimes,
  departedReaders,
  passkeys,
  identityProvider,
  siteBrands,
  announcedPositions,
  fewerCredentialIndexes,
  credentialEndsInOrder,
  oneIndexOfUsers,
]
