import { isUtf8 } from 'node:buffer'
import {
  type Denial,
  decodeBase64url,
  deny,
  parseJson,
  readCredentialObject,
  type SignedCredential,
} from '@countersign/core'
import { limits, type Presented, problems } from '@countersign/core/contract'
import { openSignIn } from '../../actions/open-sign-in.ts'
import { presentForSignIn } from '../../actions/present-for-sign-in.ts'
import type { Deps } from '../../deps.ts'
import type { Messages } from '../../pages/messages.ts'
import { describeProblem } from '../../pages/problem-page.ts'
import { requestLanguage } from '../../pages/request-language.ts'
import { toSignInUrl } from '../../pages/sign-in-page.ts'
import { Problem } from '../../problem.ts'
import type { Route } from '../../route.ts'
import { findBrowserSecret, isCsrfToken } from '../shared/browser-cookie.ts'
import { withReturnLink } from '../shared/with-return-link.ts'
import { toSignInPage } from './sign-in.ts'

/** The page's own call: JSON from its script, or a form where no script runs. */
export const present: Route<'present'> = (request, deps) => {
  const { body, credentialBody } = request
  const { state } = body
  const messages = requestLanguage(request.lines, 'ui_locales' in body ? body.ui_locales : undefined)
  const again = toSignInUrl(state, messages.lang)
  return withReturnLink(
    { ...request, messages },
    state,
    deps,
    async () => {
      const browser = findBrowserSecret(request, state, deps.config.baseUrl)
      const isForm = credentialBody === undefined
      if (browser === undefined) throw new Problem('state_invalid')
      if (isForm && !isCsrfToken('csrf_token' in body ? body.csrf_token : undefined, browser))
        throw new Problem('csrf_invalid')
      const credential = isForm
        ? readText(String(body.credential))
        : (credentialBody.credential ?? NO_CREDENTIAL)
      try {
        // Nothing was presented, so it is not a try.
        if (isForm && String(body.credential).trim() === '')
          throw new Problem('credential_malformed', NOTHING_CHOSEN)
        const payload = await presentForSignIn(deps, {
          state,
          browser,
          credential,
          request: request.holderRequest,
        })
        const callbackUrl = `${deps.config.baseUrl}/auth/sdk-callback?${new URLSearchParams({ state, payload })}`
        const answer: Presented = { callback_url: callbackUrl }
        return isForm ? { status: 303, headers: { location: callbackUrl } } : { status: 200, body: answer }
      } catch (thrown) {
        throw isForm ? await withPage(thrown, { state, browser, messages }, deps) : thrown
      }
    },
    again,
  )
}

const NOTHING_CHOSEN = 'The form has no credential. Paste one.'
const NO_CREDENTIAL = deny(
  'credential_malformed',
  'The body has no credential. Send the signed credential as the member credential.',
)

/**
 * Whatever a person pastes: the JSON of a credential, or the text of its header, broken into lines
 * perhaps.
 */
function readText(text: string): SignedCredential | Denial {
  const trimmed = text.trim()
  const bytes = trimmed.startsWith('{')
    ? Buffer.from(trimmed)
    : decodeBase64url(trimmed.replaceAll(/\s+/g, ''))
  if (bytes === undefined)
    return deny(
      'credential_malformed',
      'The credential is neither JSON nor base64url without padding. Paste it exactly as it was issued.',
    )
  if (bytes.length > limits.credential_bytes_max) {
    return deny(
      'credential_malformed',
      `The credential has more than ${limits.credential_bytes_max} bytes. Present a smaller one.`,
    )
  }
  if (!isUtf8(bytes))
    return deny('credential_malformed', 'The credential is not UTF-8. Paste it exactly as it was issued.')
  const parsed = parseJson(Buffer.from(bytes).toString('utf8'), { depthMax: limits.json_depth_max })
  if ('fault' in parsed)
    return deny(
      'credential_malformed',
      `The credential is not strict JSON: ${parsed.fault} near offset ${parsed.offset}. Paste it exactly as it was issued.`,
    )
  return readCredentialObject(parsed.value)
}

/**
 * A rejection that the user can do something about comes with the page again, and the reason on it.
 */
async function withPage(
  thrown: unknown,
  { state, browser, messages }: { state: string; browser: string; messages: Messages },
  deps: Deps,
): Promise<unknown> {
  if (!(thrown instanceof Problem) || thrown.code === 'state_invalid' || problems[thrown.code].status >= 500)
    return thrown
  const { code, detail, facts } = thrown
  if (facts.triesLeft === 0) return thrown
  const opened = await openSignIn(deps, state, browser)
  const { title, next } =
    detail === NOTHING_CHOSEN ? nothingChosen(messages) : describeProblem(code, messages)
  const rejection = { title, next, triesLeft: facts.triesLeft }
  return new Problem(code, detail, { ...facts, page: toSignInPage(opened, state, deps, messages, rejection) })
}

const nothingChosen = ({ signIn }: Messages) => ({
  title: signIn.nothingChosen,
  next: signIn.nothingChosenNext,
})
