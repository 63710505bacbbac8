import { isDeepStrictEqual } from 'node:util'
import type { RouteAnswer } from '../../answer.ts'
import { Problem } from '../../problem.ts'
import type { RouteRequest } from '../../route.ts'

/**
 * Answers a request that makes something with a name of its own. A repetition may find that its
 * first request has made it before it failed. Then it gets the answer of the first, which
 * `findMade` loads, provided that it is as the request wants it. Otherwise throws what `make`
 * throws.
 */
export async function answerRepeated<Body extends object>(
  { isRepeated, body }: Pick<RouteRequest, 'isRepeated'> & { readonly body: object },
  make: () => Promise<Body>,
  findMade: () => Promise<Body | undefined>,
): Promise<RouteAnswer> {
  try {
    return { status: 201, body: await make() }
  } catch (error) {
    if (!isRepeated || !(error instanceof Problem) || error.code !== 'already_exists') throw error
    const made = await findMade()
    if (made === undefined || !isAsWanted(body, made)) throw error
    return { status: 201, body: made }
  }
}

/** What is sent in one form and shown in another. */
const OTHER_FORMS: ReadonlySet<string> = new Set(['keys', 'logo_url', 'signals'])

/** Whether every member that both have is the same. */
function isAsWanted(sent: object, made: object): boolean {
  return Object.entries(sent).every(
    ([name, value]) =>
      OTHER_FORMS.has(name) ||
      !Object.hasOwn(made, name) ||
      isDeepStrictEqual(value, made[name as keyof typeof made]),
  )
}
