import type { JSX } from 'preact'

interface MonogramProps {
  readonly name: string
}

/** Two letters for a name, in the size of two lines of text. */
export function Monogram({ name }: MonogramProps): JSX.Element {
  return (
    <span class="monogram big" aria-hidden="true">
      {toMonogram(name)}
    </span>
  )
}

export function toMonogram(name: string): string {
  const words = name
    .replace(/@.*$/, '')
    .split(/[\s._-]+/)
    .filter((word) => /\p{L}|\p{N}/u.test(word))
  return words
    .slice(0, 2)
    .map((word) => [...word][0]?.toUpperCase() ?? '')
    .join('')
}
