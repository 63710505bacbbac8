import { renderCode } from '../documents/code-block.ts'
import type { Html } from '../pages/html.ts'

/** A command with a button that copies it, and the response that follows. */
export function commandBlock(command: string, answer?: string): Html {
  return renderCode(
    { language: 'sh', text: command },
    answer === undefined ? undefined : { language: 'text', text: answer },
  )
}
