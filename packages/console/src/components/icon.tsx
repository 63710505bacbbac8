import type { JSX } from 'preact'

/** Line icons on a grid of 16. Each is a picture beside a word, so it says nothing by itself. */
const PATHS = {
  overview: 'M3 3h4v4H3zM9 3h4v4H9zM3 9h4v4H3zM9 9h4v4H9z',
  users: 'M8 8a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM2.5 14c.6-2.8 2.7-4.2 5.5-4.2s4.9 1.4 5.5 4.2',
  credentials: 'M2 3.5h12v9H2zM4.5 6.5h3M4.5 9.5h7M10 6.5h1.5',
  tokens: 'M6 10a3.2 3.2 0 1 0 0-.01zM8.5 7.5 14 2M11.5 4.5l2 2',
  verifiers: 'M8 1.8l5.2 2v4c0 3-2 5.3-5.2 6.4C4.8 13.1 2.8 10.8 2.8 7.8v-4zM5.6 8l1.7 1.7L10.6 6.3',
  receipts: 'M3.5 2h9v12l-1.5-1-1.5 1-1.5-1-1.5 1-1.5-1-1.5 1zM6 5.5h4M6 8.5h4',
  drills: 'M8 14A5.2 5.2 0 1 0 8 3.6 5.2 5.2 0 0 0 8 14zM8 6.2v2.8l1.8 1.2M6.5 1.5h3',
  log: 'M6.8 9.2a2.5 2.5 0 0 0 3.6.2l2-2a2.5 2.5 0 0 0-3.6-3.5l-.8.8M9.2 6.8a2.5 2.5 0 0 0-3.6-.2l-2 2a2.5 2.5 0 0 0 3.6 3.5l.8-.8',
  inspector: 'M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10zM10.7 10.7 14 14',
  issuers: 'M2 6l6-3.5L14 6zM3.5 6.5v5M6.5 6.5v5M9.5 6.5v5M12.5 6.5v5M2 13.5h12',
  keys: 'M4 7.5h8v6H4zM5.5 7.5V5a2.5 2.5 0 0 1 5 0v2.5',
  webhooks: 'M2 8h8M7 5l3 3-3 3M13.5 3v10',
  audit: 'M2.5 4h11M2.5 8h11M2.5 12h7',
  nodes: 'M2.5 2.5h11v4.5h-11zM2.5 9h11v4.5h-11zM5 4.8h.01M5 11.3h.01',
  settings:
    'M2 5h7M12 5h2M2 11h2M7 11h7M10.5 6.8a1.8 1.8 0 1 0 0-3.6 1.8 1.8 0 0 0 0 3.6zM5.5 12.8a1.8 1.8 0 1 0 0-3.6 1.8 1.8 0 0 0 0 3.6z',
  close: 'M4 4l8 8M12 4l-8 8',
  copy: 'M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3',
  download: 'M8 2.5v8M4.8 7.5 8 10.7l3.2-3.2M3 13.5h10',
  print: 'M4.5 6V2.5h7V6M4.5 11h-2V6h11v5h-2M4.5 9.5h7v4h-7z',
  terminal: 'M3 4.5l3 3-3 3M7.5 11h5',
  pause: 'M5.5 3.5v9M10.5 3.5v9',
  play: 'M5 3.5v9l7-4.5z',
  menu: 'M2.5 4.5h11M2.5 8h11M2.5 11.5h11',
  info: 'M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12zM8 7.3V11M8 5h.01',
  lock: 'M4 7.5h8v6H4zM5.5 7.5V5a2.5 2.5 0 0 1 5 0v2.5',
  passkey:
    'M6 8.2A3.1 3.1 0 1 0 6 2a3.1 3.1 0 0 0 0 6.2zM1.5 14c.4-2.6 2-4 4.5-4 .9 0 1.7.2 2.4.5M11.8 9.5a2 2 0 1 0-.01 0zM11.8 9.5v4.7l1.2-1.2M11.8 12l1.2-1',
  chevrons: 'M5 6l3-3 3 3M5 10l3 3 3-3',
} as const
/** Mirrored where people read from right to left. */
const FLIPPED = /^(?:webhooks|audit)$/
export type IconName = keyof typeof PATHS

export function Icon({ name, size = 16 }: { readonly name: IconName; readonly size?: number }): JSX.Element {
  return (
    <svg
      class={FLIPPED.test(name) ? 'icon flipped' : 'icon'}
      width={size}
      height={size}
      viewBox="0 0 16 16"
      aria-hidden="true"
    >
      <path d={PATHS[name]} />
    </svg>
  )
}

/** The seal: green when something is proven, grey until then. */
export function Seal({
  isProven,
  size = 64,
}: {
  readonly isProven: boolean
  readonly size?: number
}): JSX.Element {
  const teeth = Array.from({ length: 48 }, (_, i) => {
    const radius = i % 2 === 0 ? 31 : 28.2
    const angle = (i * Math.PI) / 24
    return `${(32 + radius * Math.sin(angle)).toFixed(1)} ${(32 - radius * Math.cos(angle)).toFixed(1)}`
  })
  return (
    <svg
      class={isProven ? 'seal proven' : 'seal'}
      width={size}
      height={size}
      viewBox="0 0 64 64"
      aria-hidden="true"
    >
      <path class="seal-edge" d={`M${teeth.join('L')}Z`} />
      <circle class="seal-ring" cx="32" cy="32" r="22" />
      <path class="seal-tick" d={isProven ? 'M20 33l7 7 10-13M30 38l3 3 10-13' : 'M23 32h18'} />
    </svg>
  )
}
