import { problems } from '@countersign/core/contract'
import type { FinishedSignIn } from '../../actions/finish-sign-in.ts'

/**
 * The registered URL as it stands, byte for byte, and behind it the outcome for the integration.
 */
export function returnUrlWith({ returnUrl, clientState, outcome }: FinishedSignIn, baseUrl: string): string {
  const told =
    'code' in outcome
      ? { code: outcome.code }
      : { error: outcome.refused, error_description: toReason(outcome.refused) }
  const parameters = new URLSearchParams({
    ...told,
    ...(clientState === undefined ? {} : { state: clientState }),
    iss: baseUrl,
  })
  return `${returnUrl}${returnUrl.includes('?') ? '&' : '?'}${parameters}`
}

function toReason(refused: Extract<FinishedSignIn['outcome'], { refused: unknown }>['refused']): string {
  return refused === 'access_denied' ? 'The user has cancelled.' : problems[refused].meaning
}
