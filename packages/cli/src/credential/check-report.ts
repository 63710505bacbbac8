import type { Credential, Explanation } from '@countersign/core'
import { facts, type Terminal, table, visible } from '../terminal/output.ts'

/** The result of one check. `not_checked`: the command lacks the data for it. */
export interface CheckResult {
  readonly check: string
  readonly result: 'passed' | 'denied' | 'skipped' | 'not_checked'
  readonly code?: string
  readonly detail?: string
  /** False if no valid signature covers what was checked. */
  readonly trustworthy: boolean
}

/** Why a check could not be made, by its name. */
export type NotChecked = Readonly<Partial<Record<string, string>>>

/** Converts the checks of an explanation, and marks those that could not be made. */
export function toCheckReport({ checks }: Explanation, notChecked: NotChecked): readonly CheckResult[] {
  return checks.map(({ check, result, denial, trustworthy }) => {
    const why = notChecked[check]
    // A check without its data never counts as passed. A denial counts nevertheless.
    if (why !== undefined && (result !== 'denied' || ALWAYS_DENIED_OFFLINE.has(check)))
      return { check, result: 'not_checked', detail: why, trustworthy }
    return {
      check,
      result,
      trustworthy,
      ...(denial === undefined ? {} : { code: denial.code, detail: denial.detail }),
    }
  })
}

/** These checks need a service, so offline they always deny. */
const ALWAYS_DENIED_OFFLINE: ReadonlySet<string> = new Set(['issuer', 'holder'])

const MARKS: Readonly<Record<CheckResult['result'], string>> = {
  passed: 'passed',
  denied: 'DENIED',
  skipped: 'skipped',
  not_checked: 'not checked',
}

export function checksText(checks: readonly CheckResult[]): string {
  return table(
    ['check', 'result', 'why'],
    checks.map(({ check, result, code, detail }) => [
      check,
      MARKS[result],
      [detail, code && `(${code})`].filter(Boolean).join(' '),
    ]),
  ).replaceAll(/ -$/gm, '')
}

/** The claims of a credential, for people. */
export function claimsText(credential: Credential, at: Terminal): string {
  const time = (ms: number) =>
    Number.isFinite(ms) ? new Date(ms).toISOString().replace('.000Z', 'Z') : undefined
  const lines = facts([
    ['credential', credential.id],
    ['user', credential.ppid],
    ['site', credential.site],
    ['scope', credential.scope],
    ['permission', credential.permissionId],
    ['valid from', time(credential.validFromMs)],
    ['valid until', time(credential.validUntilMs)],
    ['bound to', credential.holderKey ?? 'no key: anyone who has it can use it'],
    ['delegable', credential.delegable ? 'yes' : 'no'],
    ['issuer', credential.issuer],
    ['signed', time(credential.createdMs)],
    ['with key', credential.verificationMethod],
  ])
  if (credential.parent === undefined) return lines
  return `${lines}\n${at.paint('dim', 'delegated from')}\n${claimsText(credential.parent, at).replaceAll(/^/gm, '  ')}`
}

/** The claims of a credential, for programs. */
export function claimsFacts(credential: Credential): Readonly<Record<string, unknown>> {
  const { parent } = credential
  return {
    credential_id: credential.id,
    ppid: credential.ppid,
    site_id: visible(credential.site),
    scope: credential.scope,
    permission_id: credential.permissionId ?? null,
    holder_key: credential.holderKey ?? null,
    delegable: credential.delegable,
    issuer: credential.issuer,
    verification_method: credential.verificationMethod,
    valid_from: new Date(credential.validFromMs).toISOString(),
    expires_at: new Date(credential.validUntilMs).toISOString(),
    created_at: new Date(credential.createdMs).toISOString(),
    parent: parent === undefined ? null : claimsFacts(parent),
  }
}
