import { arrow, box, heading, lines, NARROW, type Picture, panel, text, toSvg, WIDE } from './svg.ts'

const TITLE = 'A revocation inside the service'
const DESCRIPTION =
  'From top to bottom. 1. A request to revoke passes the pipeline and its route to actions/revoke-user.ts. 2. One transaction writes the user or credential, its tokens, the log entry and the audit row: SQLite with a writer thread and group commit, PostgreSQL under the locked head. 3. The tail reads the new entry after a wake-up, or at the next poll after 250 milliseconds, and recomputes its hash. 4. The live views apply it in order. 5. From there it goes two ways: verify denies with credential_revoked, and the feed of the site sends the entry and a signed heartbeat to every connection. 6. The caller gets 200 when this node denies. Every other node has its own tail, and denies within 2 seconds or rejects everything. With Prefer: wait, the answer also waits for the acknowledgements of the verifiers.'

const STEPS = [
  { name: 'The request', about: ['pipeline, route, action'], file: 'actions/revoke-user.ts' },
  {
    name: 'One transaction',
    about: ['user or credential, tokens, entry, audit row'],
    narrow: ['user or credential, tokens,', 'log entry, audit row'],
    file: 'store/operations/revocations.ts',
  },
  {
    name: 'Tail of the log',
    about: ['a wake-up is a hint; polled every 250 ms'],
    narrow: ['a wake-up is a hint;', 'polled every 250 ms'],
    file: 'log/tail.ts',
  },
  {
    name: 'Live views',
    about: ['hash recomputed, next in order, or deny all'],
    narrow: ['hash recomputed; next in order,', 'or the node denies everything'],
    file: 'log/live-views.ts',
  },
] as const

const WAYS = [
  { name: 'Verification', about: ['answers', 'credential_revoked'], file: 'access/guard.ts', color: 'red' },
  {
    name: 'Feed',
    about: ['entry and signed', 'head to verifiers'],
    file: 'feed/site-feed.ts',
    color: 'green',
  },
  { name: 'Caller', about: ['200: this node', 'denies already'], file: 'feed/receipts.ts', color: 'green' },
] as const

function draw(width: number, isWide: boolean): string {
  const left = isWide ? 20 : 16
  const inner = width - 2 * left
  const parts: string[] = []
  let y = 80
  for (const step of STEPS) {
    const about = isWide || !('narrow' in step) ? step.about : step.narrow
    const height = isWide ? 56 : 56 + about.length * 18
    parts.push(box(left, y, inner, height, { fill: 'sunken', stroke: 'edge' }))
    parts.push(text(left + 14, y + 24, step.name, { size: 14, bold: true }))
    parts.push(lines(left + 14, y + 43, about, { size: 12, color: 'quiet' }))
    parts.push(
      isWide
        ? text(left + inner - 12, y + 24, step.file, { size: 12, mono: true, color: 'quiet', anchor: 'end' })
        : text(left + 14, y + 44 + about.length * 18, step.file, { size: 12, mono: true, color: 'quiet' }),
    )
    y += height + 22
    const xs = step.name === 'Live views' && isWide ? [130, 360, 590] : [left + 24]
    for (const x of xs) parts.push(arrow(`M${x} ${y - 20}V${y - 4}`, 'red'))
  }
  const wayWidth = isWide ? (inner - 24) / 3 : inner
  for (const [i, { name, about, file, color }] of WAYS.entries()) {
    const x = isWide ? left + i * (wayWidth + 12) : left
    const top = isWide ? y : y + i * 92
    parts.push(
      box(x, top, wayWidth, isWide ? 92 : 82, { fill: `${color}-soft`, stroke: color }),
      text(x + 14, top + 24, name, { size: 14, bold: true, color }),
      isWide
        ? lines(x + 14, top + 45, about, { size: 12, color: 'quiet' })
        : text(x + 14, top + 44, about.join(' '), { size: 12, color: 'quiet' }),
      text(x + 14, top + (isWide ? 81 : 66), file, { size: 12, mono: true, color: 'quiet' }),
    )
  }
  const height = y + (isWide ? 92 : 3 * 92 - 10) + 20
  const about = isWide
    ? ['The log decides; the wake-up is only a hint. Every node reads the log by itself.']
    : ['The log decides; the wake-up is only', 'a hint. Every node reads the log.']
  return toSvg({
    ...{ width, height, title: TITLE, description: DESCRIPTION },
    parts: [panel(0, width, height), heading(left, 30, 'A revocation', about, 'red'), ...parts],
  })
}

export function drawRevocationPath(): Picture {
  return { wide: draw(WIDE, true), narrow: draw(NARROW, false) }
}
