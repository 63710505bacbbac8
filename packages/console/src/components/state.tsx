import type { ComponentChildren, JSX } from 'preact'

/** States are shown by shape, word and colour together. */
export type Tone = 'good' | 'late' | 'silent' | 'gone' | 'bad' | 'soon' | 'none'

export function StateMark({ tone, size = 12 }: { readonly tone: Tone; readonly size?: number }): JSX.Element {
  return (
    <svg class={`mark ${tone}`} width={size} height={size} viewBox="0 0 12 12" aria-hidden="true">
      {shapes[tone]}
    </svg>
  )
}

const shapes: Readonly<Record<Tone, JSX.Element>> = {
  good: <circle class="fill" cx="6" cy="6" r="5" />,
  late: (
    <>
      <circle class="line" cx="6" cy="6" r="4.4" />
      <path class="fill" d="M6 1.6a4.4 4.4 0 0 1 0 8.8z" />
    </>
  ),
  silent: <circle class="line" cx="6" cy="6" r="4.4" stroke-dasharray="2 1.6" />,
  gone: (
    <>
      <circle class="line" cx="6" cy="6" r="4.4" />
      <path class="line" d="M3 9l6-6" />
    </>
  ),
  bad: (
    <>
      <circle class="fill" cx="6" cy="6" r="5.4" />
      <path class="cut" d="M4.2 4.2l3.6 3.6M7.8 4.2l-3.6 3.6" />
    </>
  ),
  soon: (
    <>
      <circle class="fill" cx="6" cy="6" r="5.4" />
      <path class="cut" d="M6 3.2V6l2 1.2" />
    </>
  ),
  none: <circle class="line" cx="6" cy="6" r="4.4" />,
}

export function Pill({
  tone,
  children,
}: {
  readonly tone: Tone
  readonly children: ComponentChildren
}): JSX.Element {
  return (
    <span class={`pill ${tone}`}>
      <StateMark tone={tone} />
      {children}
    </span>
  )
}
