import { UsageError } from '../command.ts'
import { readTextFrom } from './secrets.ts'

/**
 * A bearer token from a file or the standard input: alone, or as the answer that it came in. Throws
 * a `UsageError` when there is none.
 */
export async function readToken(file: string | undefined): Promise<string> {
  const text = (await readTextFrom(file ?? '-', 'the token')).trim()
  const token = text.startsWith('{') ? findAccessToken(text) : text
  if (token === undefined || token === '' || /\s/.test(token))
    throw new UsageError('There is no token in it: give the token alone, or the answer of exchange.')
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
