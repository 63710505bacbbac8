import { problems } from '@countersign/core/contract'
import type { FinishedSignIn } from '../../actions/finish-sign-in.ts'

/** The registered URL, unchanged, with the outcome for the integration as parameters. */
export function toReturnUrl({ returnUrl, clientState, outcome }: FinishedSignIn, baseUrl: string): string {
  const result =
    'code' in outcome
      ? { code: outcome.code }
      : { error: outcome.error, error_description: toReason(outcome.error) }
  const parameters = new URLSearchParams({
    ...result,
    ...(clientState === undefined ? {} : { state: clientState }),
    iss: baseUrl,
  })
  return `${returnUrl}${returnUrl.includes('?') ? '&' : '?'}${parameters}`
}

function toReason(error: Extract<FinishedSignIn['outcome'], { error: unknown }>['error']): string {
  return error === 'access_denied' ? 'The user cancelled the sign-in.' : problems[error].meaning
}
