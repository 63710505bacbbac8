import { type CredentialId, parseSiteId, type SiteId } from '../credential/ids.ts'
import { canonicalJson } from '../encoding/jcs.ts'
import type { JsonValue } from '../encoding/json.ts'
import type { PrivateKey, PublicKey } from '../proof/keys.ts'
import { isCredentialId } from './entry.ts'
import { isFeedSignature, signFeedText } from './feed-signature.ts'
import { isTime, parseFields } from './members.ts'
import { isKid, isSignature } from './signed-fields.ts'
import { isMadeId, parseReceipt, type SignedReceipt } from './signed-receipt.ts'

/**
 * How a drill ended. `complete`: every verifier acknowledged in time. `incomplete`: some had not
 * when the time was over.
 */
export const drillOutcomes = ['complete', 'incomplete'] as const
export type DrillOutcome = (typeof drillOutcomes)[number]

/** A drill revoked an id that no credential has. The receipt states how far that entry got. */
export interface DrillReportFields {
  readonly site_id: SiteId
  readonly drill_id: string
  readonly credential_id: CredentialId
  readonly started_at: string
  readonly ended_at: string
  readonly outcome: DrillOutcome
  /** The receipt when the drill ended. It has a signature of its own. */
  readonly receipt: SignedReceipt
  readonly kid: string
}

export interface DrillReport extends DrillReportFields {
  readonly signature: string
}

/**
 * Undefined unless the value has exactly the members of a report, each well-formed, and the receipt
 * is that of the drill. Does not check the signatures.
 */
export function parseDrillReport(value: unknown): DrillReport | undefined {
  const fields = parseFields(value, 9) ?? {}
  const { site_id, drill_id, credential_id, started_at, ended_at, outcome, kid, signature } = fields
  const siteId = parseSiteId(site_id)
  const receipt = parseReceipt(fields.receipt)
  if (siteId === undefined || !isMadeId(drill_id) || !isCredentialId(credential_id)) return undefined
  if (!isTime(started_at) || !isTime(ended_at) || !isKid(kid) || !isSignature(signature)) return undefined
  if (receipt === undefined || receipt.site_id !== siteId || receipt.drill_id !== drill_id) return undefined
  const isComplete = receipt.state === 'complete'
  if (outcome !== (isComplete ? 'complete' : 'incomplete')) return undefined
  return {
    site_id: siteId,
    drill_id,
    credential_id,
    started_at,
    ended_at,
    outcome: isComplete ? 'complete' : 'incomplete',
    receipt,
    kid,
    signature,
  }
}

/** The signed text. Its first line separates it from all other texts that a feed key signs. */
function drillText(report: DrillReportFields): string {
  return `countersign-drill\n${canonicalJson(report as unknown as JsonValue, 'signature')}`
}

export async function signDrillReport(fields: DrillReportFields, key: PrivateKey): Promise<DrillReport> {
  return { ...fields, signature: await signFeedText(drillText(fields), key) }
}

/**
 * Whether this key signed exactly this report. The caller has parsed it, finds the key by `kid`,
 * and checks the receipt in it with `checkReceipt`.
 */
export function checkDrillReport(report: DrillReport, key: PublicKey): Promise<boolean> {
  return isFeedSignature(drillText(report), report.signature, key)
}
