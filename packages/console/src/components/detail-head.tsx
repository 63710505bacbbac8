import type { ComponentChildren, JSX } from 'preact'
import { Fault } from './fault.tsx'

interface DetailHeadProps {
  /** The list that the page belongs to. */
  readonly back: { readonly href: string; readonly title: string }
  /** The heading, and what is below it. */
  readonly children: ComponentChildren
  readonly acts: ComponentChildren
  readonly fault: string | undefined
  readonly onRetry: () => void
}

/** The top of a page about one thing: the way back, its name, and what can be done. */
export function DetailHead({ back, children, acts, fault, onRetry }: DetailHeadProps): JSX.Element {
  return (
    <>
      <p class="meta">
        <a href={back.href}>{back.title}</a>
      </p>
      <div class="title">
        <div>{children}</div>
        <div class="acts">{acts}</div>
      </div>
      <Fault text={fault} onRetry={onRetry} />
    </>
  )
}
