import { UsageError } from '../command.ts'
import { readTextFrom } from './secrets.ts'

/**
 * Reads a bearer token from a file or standard input: the token alone, or the response of
 * `exchange`. Throws a `UsageError` when there is none.
 */
export async function readToken(file: string | undefined): Promise<string> {
  const text = (await readTextFrom(file ?? '-', 'the token')).trim()
  const token = text.startsWith('{') ? findAccessToken(text) : text
  if (token === undefined || token === '' || /\s/.test(token))
    throw new UsageError(
      'The input contains no token. Give the token alone, or the JSON that countersign exchange --json prints.',
    )
  return token
}

function findAccessToken(text: string): string | undefined {
  try {
    const { access_token: token } = JSON.parse(text) as { access_token?: unknown }
    return typeof token === 'string' ? token : undefined
  } catch {
    return undefined
  }
}
