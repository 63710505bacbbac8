import { type Given, type Option, UsageError } from '../command.ts'

/** A user by one of the names that people know. */
export interface NamedUser {
  readonly ppid?: string
  readonly user_ref?: string
  readonly issuer?: string
  readonly subject?: string
}

export const USER_WORD = ['[user]', 'your own id of the user, or did:service:ppid_…'] as const

/** The options for a user of an OAuth issuer. */
export const USER_OPTIONS: readonly Option[] = [
  ['--issuer <url>', 'name a user of this OAuth issuer; needs --subject'],
  ['--subject <text>', 'the user, as in the tokens of that issuer'],
]

/** Throws a `UsageError` unless the command line names exactly one user. */
export function readUser(given: Given): NamedUser {
  const [word] = given.words
  const [issuer, subject] = [given.text('issuer'), given.text('subject')]
  if (word !== undefined && issuer === undefined && subject === undefined)
    return word.startsWith('did:service:') ? { ppid: word } : { user_ref: word }
  if (word === undefined && issuer !== undefined && subject !== undefined) return { issuer, subject }
  throw new UsageError('Missing user. Give one user, or --issuer with --subject, but not both.')
}

/** The user in a sentence. */
export function userText({ ppid, user_ref, issuer, subject }: NamedUser): string {
  return ppid ?? user_ref ?? `${subject} of ${issuer}`
}
