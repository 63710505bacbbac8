import { problems } from '@countersign/core/contract'
import { findWayBack } from '../../actions/find-way-back.ts'
import type { Deps } from '../../deps.ts'
import { acceptsPage } from '../../pages/accepts-page.ts'
import { problemPage } from '../../pages/problem-page.ts'
import { texts } from '../../pages/texts.ts'
import { Problem } from '../../problem.ts'
import type { RouteRequest } from '../../route.ts'
import { returnUrlWith } from './return-url.ts'

/**
 * Runs a step of a sign-in. When it is refused, the page that a browser is shown has a button to
 * the registered address of the site. The integration is told the code as `error`, without its own
 * state: this may be another browser than the one that began.
 */
export async function withWayBack<T>(
  { lines, requestId }: Pick<RouteRequest, 'lines' | 'requestId'>,
  state: string,
  deps: Deps,
  step: () => Promise<T>,
  /** Where a browser can repeat the step when it may succeed later; '' is the same address. */
  again = '',
): Promise<T> {
  try {
    return await step()
  } catch (thrown) {
    if (!(thrown instanceof Problem) || thrown.facts.page !== undefined || !acceptsPage(lines)) throw thrown
    const { code, detail, facts } = thrown
    const found = await findWayBack(deps, state)
    if (found === undefined) throw thrown
    const href = returnUrlWith(
      { returnUrl: found.returnUrl, clientState: undefined, outcome: { refused: code } },
      deps.config.baseUrl,
    )
    const back = { site: found.site, href }
    const repeat = problems[code].retryable ? { again } : {}
    const page = problemPage(code, requestId, texts, { back, triesLeft: facts.triesLeft, ...repeat })
    throw new Problem(code, detail, { ...facts, page })
  }
}
