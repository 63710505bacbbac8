import { problems } from '@countersign/core/contract'
import { findReturnLink } from '../../actions/find-return-link.ts'
import type { Deps } from '../../deps.ts'
import { acceptsPage } from '../../pages/accepts-page.ts'
import type { Messages } from '../../pages/messages.ts'
import { problemPage } from '../../pages/problem-page.ts'
import { toSignInUrl } from '../../pages/sign-in-page.ts'
import { Problem } from '../../problem.ts'
import type { RouteRequest } from '../../route.ts'
import { toReturnUrl } from './return-url.ts'

/**
 * Runs a step of a sign-in. When the step is rejected, the page for a browser has a button to the
 * registered address of the site. That address gets the code as `error`, without the state of the
 * integration: this may be another browser than the one that started.
 */
export async function withReturnLink<T>(
  { lines, requestId, messages }: Pick<RouteRequest, 'lines' | 'requestId'> & { readonly messages: Messages },
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
    const found = await findReturnLink(deps, state)
    if (found === undefined) throw thrown
    const href = toReturnUrl(
      { returnUrl: found.returnUrl, clientState: undefined, outcome: { error: code } },
      deps.config.baseUrl,
    )
    const back = { siteId: found.siteId, name: found.name, brand: found.brand, href }
    const repeat = problems[code].retryable ? { again } : {}
    const toLanguage = (lang: string) => toSignInUrl(state, lang)
    const { triesLeft } = facts
    const page = problemPage(code, requestId, messages, { back, triesLeft, toLanguage, ...repeat })
    throw new Problem(code, detail, { ...facts, page })
  }
}
