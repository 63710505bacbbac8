import { expect, test } from 'vitest'
import { challengeFor } from '../../src/contract/problem-body.ts'
import { type ProblemCode, problemCodes, problems } from '../../src/contract/problems.ts'

const names: Record<number, string> = {
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Method Not Allowed',
  409: 'Conflict',
  410: 'Gone',
  413: 'Content Too Large',
  414: 'URI Too Long',
  415: 'Unsupported Media Type',
  422: 'Unprocessable Content',
  429: 'Too Many Requests',
  431: 'Request Header Fields Too Large',
  500: 'Internal Server Error',
  503: 'Service Unavailable',
}

const intro = `# Errors

<!-- Generated from packages/core/src/contract/problems.ts. A test keeps the two equal; its message says how to write this page again. -->

Every error is \`application/problem+json\` (RFC 9457):

\`\`\`json
{
  "type": "https://auth.example/problems/credential_expired",
  "title": "Credential expired",
  "status": 401,
  "detail": "The credential has expired. Request a new credential from its issuer.",
  "code": "credential_expired",
  "request_id": "01k9x3v0h2e8y6q4b7d5m1n8ra"
}
\`\`\`

Act on \`code\`; it never changes its meaning.
\`detail\` is for people.
Some errors also have \`errors\` (a list of \`{ path, message }\`), \`required_scope\`, \`retry_after\` (seconds) and \`tries_left\` (at a sign-in).
For codes marked ↻, the same request may succeed later.

Behind a reverse proxy (\`/api/auth/verify\`) every denial is 401 or 403, whatever its status here; 429, 500 and 503 do not change.
`

function section(status: number): string {
  const codes = problemCodes.filter((code) => problems[code].status === status)
  return [
    `## ${status} ${names[status]}`,
    '',
    '| code | meaning | what to do |',
    '|---|---|---|',
    ...codes.map(row),
    '',
  ].join('\n')
}

function row(code: ProblemCode): string {
  const { title, meaning, remedy, retryable } = problems[code]
  return `| <a id="${code}"></a>\`${code}\`${retryable ? ' ↻' : ''} | **${title}.** ${meaning} | ${remedy} |`
}

function challenges(): string {
  const codes = problemCodes.filter((code) => problems[code].status === 401)
  const rows = codes.map((code) => `| \`${code}\` | \`${challengeFor(code)}\` |`)
  return [
    '## Challenges',
    '',
    'Every 401 says in `WWW-Authenticate` what would have been accepted.',
    '',
    '| code | WWW-Authenticate |',
    '|---|---|',
    ...rows,
    '',
  ].join('\n')
}

test('docs/errors.md says what the table says', async () => {
  const statuses = [...new Set(problemCodes.map((code) => problems[code].status))]
  const page = [intro, ...statuses.map(section), challenges()].join('\n')
  const hint =
    'docs/errors.md differs from the table; write it again with: npx vitest run packages/core/test/contract/errors-page.test.ts -u'
  await expect(page, hint).toMatchFileSnapshot('../../../../docs/errors.md')
})
