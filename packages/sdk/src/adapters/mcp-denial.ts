import type { GuardDenial, GuardProblem } from '../guard/verdict.ts'

/** A denial, as a model gets it. */
type DenialFacts = Pick<
  GuardDenial,
  'code' | 'detail' | 'needs' | 'retryable' | 'retryAfterSeconds' | 'requiredScope'
>

/** From the range that JSON-RPC reserves for servers. */
const JSON_RPC_CODE = -32_001

/** The result of a tool that was denied: an error for the model, and the same for its program. */
export type ToolDenial = {
  isError: true
  content: { type: 'text'; text: string }[]
  _meta: { [name: string]: unknown }
}

export function toToolDenial(denial: DenialFacts): ToolDenial {
  const { code, detail } = denial
  return {
    isError: true,
    content: [{ type: 'text', text: `${code}: ${detail} ${toAdvice(denial)}` }],
    _meta: { 'countersign/denial': toErrorData(denial) },
  }
}

/** The denial of a whole request, as a JSON-RPC error too, which MCP clients understand. */
export function toJsonRpcDenial(denial: GuardDenial): GuardDenial {
  const error = {
    code: JSON_RPC_CODE,
    message: `${denial.code}: ${denial.detail} ${toAdvice(denial)}`,
    data: toErrorData(denial),
  }
  const problem = { ...denial.problem, jsonrpc: '2.0', id: null, error } as GuardProblem
  return { ...denial, problem }
}

function toAdvice({ needs, retryable, retryAfterSeconds, requiredScope = [] }: DenialFacts): string {
  if (retryable) return `Try again after ${retryAfterSeconds ?? 1} s.`
  if (needs === 'retry_later') return 'Wait until the credential is valid, then try again.'
  const what = {
    credential: 'Present a credential in X-Service-Credential.',
    new_credential: 'Get a new credential.',
    scope: `Ask for a credential with the scope ${requiredScope.join(' ')}.`,
    trusted_issuer: 'Get a credential from an issuer that this site trusts.',
    site: 'Get a credential for this site.',
    holder_proof: 'Sign the request again with the key of the credential.',
    fix_request: 'Correct the request.',
    none: 'Access was revoked; ask the person you work for.',
  }[needs]
  return `${what} Trying again as it is will not help.`
}

function toErrorData({ code, needs, retryable, retryAfterSeconds, requiredScope }: DenialFacts): {
  [name: string]: unknown
} {
  return {
    code,
    needs,
    retryable,
    ...(retryAfterSeconds === undefined ? {} : { retry_after: retryAfterSeconds }),
    ...(requiredScope === undefined ? {} : { required_scope: requiredScope }),
  }
}
