import { arrow, badge, box, dot, line, NARROW, type Picture, panel, text, toSvg, WIDE } from './svg.ts'

const TITLE = 'Sign-in in three lanes'
const DESCRIPTION =
  'Three lanes: your site, the browser and Countersign. 1. Your site calls startSignIn and gets a state that is valid for ten minutes. 2. It redirects the browser to the sign-in page. 3. The browser opens the page at Countersign, which binds the sign-in to this browser with a cookie. 4. The person sees who asks and for what, and chooses a credential. 5. The browser presents the credential to Countersign, which verifies it for your site and scope. 6. Countersign redirects the browser back to your site with code, state and issuer. 7. Your site calls finishSignIn with the code and the PKCE verifier, once and within a minute. 8. It gets an ID of the person for this site only, the scope and the expiry. Later, when the access is revoked, Countersign notifies the guard in your site, and isActive is false within milliseconds.'

type Lane = 0 | 1 | 2
const LANES = ['Your site', 'Browser', 'Countersign'] as const

interface Step {
  readonly from: Lane
  readonly to: Lane
  readonly label: string
  readonly about: string
  readonly answer?: boolean
}

const STEPS: readonly Step[] = [
  { from: 0, to: 2, label: 'startSignIn', about: 'a state, valid for 10 minutes' },
  { from: 0, to: 1, label: 'redirect', about: 'to the sign-in page' },
  { from: 1, to: 2, label: 'open the page', about: 'bound to this browser' },
  { from: 1, to: 1, label: 'choose a credential', about: 'who asks, and for what?' },
  { from: 1, to: 2, label: 'present it', about: 'for your site and scope' },
  { from: 2, to: 0, label: 'redirect back', about: 'with code, state and iss', answer: true },
  { from: 0, to: 2, label: 'finishSignIn', about: 'code and PKCE verifier, once, within 1 minute' },
  { from: 2, to: 0, label: 'the result', about: 'an ID for this site only, scope, expiry', answer: true },
]

/** The lanes, their steps, and the revocation that may follow. */
function draw(width: number, xs: readonly [number, number, number], isWide: boolean): string {
  const [step, first] = isWide ? [56, 96] : [70, 90]
  const parts: string[] = []
  const end = first + STEPS.length * step
  const nodeWidth = isWide ? 132 : 98
  for (const [i, name] of LANES.entries()) {
    const x = xs[i] ?? 0
    parts.push(
      line(`M${x} 60V${end + 12}`, { color: 'line', width: 2 }),
      box(x - nodeWidth / 2, 24, nodeWidth, 36, { fill: 'sunken', stroke: 'edge' }),
      text(x, 47, name, { size: isWide ? 14 : 13, bold: true, anchor: 'middle' }),
    )
  }
  for (const [i, { from, to, label, about, answer = false }] of STEPS.entries()) {
    const y = first + i * step + (isWide ? 30 : 48)
    const [a, b] = [xs[from] ?? 0, xs[to] ?? 0]
    const direction = b > a ? 1 : -1
    const middle = from === to ? a : (a + b) / 2
    const number = text(0, 0, String(i + 1), { size: 12, bold: true, color: 'on-green', anchor: 'middle' })
    const counter = (x: number, top: number) =>
      `${dot(x, top, 9, 'green')}${number.replace('x="0" y="0"', `x="${x}" y="${top + 4.3}"`)}`
    if (isWide) {
      if (from === to) {
        parts.push(
          box(a - 104, y - 32, 208, 44, { fill: 'green-soft', stroke: 'green' }),
          text(a, y - 13, label, { bold: true, color: 'green', anchor: 'middle' }),
          text(a, y + 4, about, { size: 12, color: 'quiet', anchor: 'middle' }),
          counter(a - 104, y - 10),
        )
        continue
      }
      parts.push(
        arrow(`M${a + direction * 12} ${y}H${b - direction * 6}`, 'green', answer),
        counter(a, y),
        text(middle, y - 23, label, { bold: true, anchor: 'middle', halo: 'panel' }),
        text(middle, y - 7, about, { size: 12, color: 'quiet', anchor: 'middle', halo: 'panel' }),
      )
      continue
    }
    parts.push(
      box(8, y - 44, width - 16, 34, { fill: 'panel', radius: 4 }),
      text(40, y - 30, label, { bold: true }),
      text(40, y - 13, about, { size: 12, color: 'quiet' }),
      counter(24, y - 27),
      from === to
        ? badge('tick', a, y + 4)
        : arrow(`M${a + direction * 2} ${y + 4}H${b - direction * 4}`, 'green', answer),
    )
  }
  const y = end + (isWide ? 14 : 12)
  parts.push(
    box(isWide ? 20 : 8, y, width - (isWide ? 40 : 16), isWide ? 58 : 84, {
      fill: 'red-soft',
      stroke: 'red',
    }),
  )
  if (isWide)
    parts.push(
      badge('cross', 44, y + 29),
      text(64, y + 25, 'Later, access is revoked', { size: 14, bold: true, color: 'red' }),
      text(
        64,
        y + 44,
        'The guard in your site knows within milliseconds: isActive answers false, and the session ends.',
        { size: 12, color: 'quiet' },
      ),
    )
  else
    parts.push(
      badge('cross', 28, y + 24),
      text(46, y + 29, 'Later, access is revoked', { size: 14, bold: true, color: 'red' }),
      text(46, y + 50, 'The guard in your site knows within', { size: 12, color: 'quiet' }),
      text(46, y + 67, 'milliseconds, and the session ends.', { size: 12, color: 'quiet' }),
    )
  const height = y + (isWide ? 78 : 100)
  return toSvg({
    ...{ width, height, title: TITLE, description: DESCRIPTION },
    parts: [panel(0, width, height), ...parts],
  })
}

export function drawSignIn(): Picture {
  return { wide: draw(WIDE, [96, 360, 624], true), narrow: draw(NARROW, [62, 170, 278], false) }
}
