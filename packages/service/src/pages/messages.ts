import type { ProblemCode } from '@countersign/core/contract'
import type { en } from './languages/en.ts'

/** The forms of a text that depends on a number, as Intl.PluralRules names them. */
type Plural = Readonly<Partial<Record<Intl.LDMLPluralRule, string>>> & { readonly other: string }

/** The same keys as in English. A text that is missing does not compile. */
type Texts<English> = {
  readonly [Key in keyof English]: English[Key] extends string
    ? string
    : English[Key] extends { readonly other: string }
      ? Plural
      : Texts<English[Key]>
}

/** All texts in one language. Placeholders such as `{site}` may appear anywhere in a text. */
export type Messages = Omit<Texts<typeof en>, 'dir'> & { readonly dir: 'ltr' | 'rtl' }

/** What happened, and what to do next. */
export interface ProblemText {
  readonly title: string
  readonly next: string
}

/** Undefined: the code has no text of its own in the pages. */
export function findProblemText(messages: Messages, code: ProblemCode | string): ProblemText | undefined {
  const { problems } = messages
  return Object.hasOwn(problems, code) ? problems[code as keyof typeof problems] : undefined
}
