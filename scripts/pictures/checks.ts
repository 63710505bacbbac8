import { arrow, box, line, NARROW, type Picture, panel, pill, text, toSvg, WIDE } from './svg.ts'

interface Check {
  /** As `credentialChecks` in the core names it. */
  readonly name: string
  readonly asks: string
  readonly codes: readonly string[]
}

/** The checks of a credential, in their order; a test compares them with the code. */
export const CHECKS: readonly Check[] = [
  { name: 'freshness', asks: 'is the view new enough?', codes: ['revocation_view_stale'] },
  {
    name: 'reading',
    asks: 'size, encoding, JSON, shape',
    codes: [
      'credential_missing',
      'credential_malformed',
      'header_too_large',
      'credential_unsupported',
      'delegation_too_deep',
    ],
  },
  { name: 'issuer', asks: 'is it on the site’s list?', codes: ['issuer_untrusted'] },
  {
    name: 'key',
    asks: 'the issuer’s, not compromised?',
    codes: ['credential_signature_invalid', 'issuer_untrusted'],
  },
  {
    name: 'signature',
    asks: 'cached, or checked now',
    codes: ['credential_signature_invalid', 'credential_unsupported'],
  },
  { name: 'delegation', asks: 'each link, from the root', codes: ['delegation_invalid'] },
  { name: 'issuer_limits', asks: 'retired key, lifetime', codes: ['issuer_untrusted'] },
  { name: 'time', asks: 'valid now?', codes: ['credential_expired', 'credential_not_yet_valid'] },
  { name: 'site', asks: 'for this site?', codes: ['site_mismatch'] },
  { name: 'revocation', asks: 'any link, or the user?', codes: ['credential_revoked'] },
  { name: 'scope', asks: 'within the issuer’s limit?', codes: ['scope_insufficient'] },
  {
    name: 'holder',
    asks: 'request signature, nonce',
    codes: ['proof_required', 'proof_invalid', 'proof_replayed'],
  },
]

/** After this check the claims are known to be the issuer's. */
const SIGNED = 'signature'

const TITLE = 'The checks of a credential, in order'
const DESCRIPTION = `A request with a credential passes these checks from top to bottom, and the first one that fails rejects it with its code. ${CHECKS.map(({ name, asks, codes }, i) => `${i + 1}. ${name} (${asks}): ${codes.join(', ')}.`).join(' ')} From the signature on, the claims are known to be the issuer's. Only a credential that passes all checks is allowed.`

/** Codes, as many on a line as fit. */
function wrap(codes: readonly string[], columns: number): readonly string[] {
  const rows: string[] = []
  for (const code of codes) {
    const last = rows.at(-1)
    if (last !== undefined && last.length + code.length + 2 <= columns)
      rows[rows.length - 1] = `${last}  ${code}`
    else rows.push(code)
  }
  return rows
}

function draw(width: number, isWide: boolean): string {
  const parts: string[] = []
  const [left, nameWidth] = isWide ? [20, 300] : [16, 308]
  let y = 76
  for (const { name, asks, codes } of CHECKS) {
    const rows = wrap(codes, isWide ? 48 : 36)
    const height = isWide ? Math.max(40, 16 + rows.length * 18) : 52 + rows.length * 17
    parts.push(arrow(`M${left + 20} ${y - 14}V${y - 3}`, 'green'))
    parts.push(box(left, y, nameWidth, height, { fill: 'sunken', stroke: 'edge' }))
    const middle = y + height / 2
    parts.push(
      text(left + 14, isWide ? middle + 5 : y + 21, name, { size: 13, bold: true, mono: true }),
      isWide
        ? text(left + nameWidth - 12, middle + 4.5, asks, { size: 12, color: 'quiet', anchor: 'end' })
        : text(left + 14, y + 39, asks, { size: 12, color: 'quiet' }),
    )
    if (isWide) {
      parts.push(arrow(`M${left + nameWidth + 6} ${middle}H${left + nameWidth + 34}`, 'red'))
      for (const [i, row] of rows.entries())
        parts.push(
          text(364, middle + 4.5 + (i - (rows.length - 1) / 2) * 18, row, {
            size: 12,
            mono: true,
            color: 'red',
          }),
        )
    } else
      for (const [i, row] of rows.entries())
        parts.push(text(left + 14, y + 59 + i * 17, row, { size: 12, mono: true, color: 'red' }))
    y += height + 16
    if (name === SIGNED) {
      parts.push(
        arrow(`M${left + 20} ${y - 14}V${y - 3}`, 'green'),
        line(`M${left} ${y + 10}H${width - left}`, { color: 'green', width: 1.5, dashed: true }),
        text(
          isWide ? width / 2 : left + 44,
          y + 14,
          isWide
            ? 'from here on, the claims are known to be the issuer’s'
            : 'now the claims are the issuer’s',
          {
            ...{ size: 12, color: 'green', halo: 'panel' },
            ...(isWide && { anchor: 'middle' }),
          },
        ),
      )
      y += 34
    }
  }
  parts.push(arrow(`M${left + 20} ${y - 14}V${y - 3}`, 'green'), pill(left, y + 12, 92, 'Allow', 'accepted'))
  const height = y + 40
  return toSvg({
    ...{ width, height, title: TITLE, description: DESCRIPTION },
    parts: [
      panel(0, width, height),
      text(left, 30, 'X-Service-Credential', { size: 14, bold: true, mono: true }),
      text(
        left,
        52,
        isWide
          ? 'Each check may reject, with one of these codes. The order never changes.'
          : 'Each check may reject with a code.',
        { size: 13, color: 'quiet' },
      ),
      ...parts,
    ],
  })
}

export function drawChecks(): Picture {
  return { wide: draw(WIDE, true), narrow: draw(NARROW, false) }
}
