/** One section of the navigation: its readers, and its documents in reading order. */
export interface Section {
  readonly name: string
  readonly paths: readonly string[]
}

const guides = (...names: string[]) => names.map((name) => `docs/guides/${name}.md`)

/**
 * Every document except decisions and examples. A test compares this list with the files and with
 * the README.
 */
export const sections: readonly Section[] = [
  {
    name: 'Begin',
    paths: [
      'README.md',
      ...guides('quickstart'),
      'docs/comparison.md',
      'docs/interface.md',
      'docs/errors.md',
    ],
  },
  {
    name: 'Integrators',
    paths: guides(
      'protect-a-route',
      'bring-your-own-tokens',
      'signals',
      'mcp-servers',
      'frameworks',
      'forward-auth',
      'sign-in',
      'webhooks',
      'migrating',
      'core',
    ),
  },
  { name: 'Agent developers', paths: [...guides('agents'), 'examples/README.md', 'docs/cli.md'] },
  {
    name: 'Operators',
    paths: [
      ...guides('console', 'on-call', 'deployment'),
      'docs/operating.md',
      ...guides('monitoring', 'personal-data', 'growth'),
      'bench/README.md',
    ],
  },
  {
    name: 'Security reviewers',
    paths: [...guides('security-model', 'revocation', 'trust-and-keys'), 'SECURITY.md'],
  },
  { name: 'End users', paths: guides('for-users') },
  { name: 'Contributors', paths: ['ARCHITECTURE.md', 'CONTRIBUTING.md', 'docs/attacks.md', 'CHANGELOG.md'] },
]
