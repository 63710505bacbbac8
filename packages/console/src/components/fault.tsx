import type { JSX } from 'preact'

/** What went wrong, said at once by screen readers. Nothing without a text. */
export function Fault({ text }: { readonly text: string | undefined }): JSX.Element | null {
  return text === undefined ? null : (
    <p class="fault" role="alert">
      {text}
    </p>
  )
}
