/**
 * One group of the navigation: for whom, and which documents, in the order in which they are best
 * read.
 */
export interface Shelf {
  readonly name: string
  readonly paths: readonly string[]
}

const guides = (...names: string[]) => names.map((name) => `docs/guides/${name}.md`)

/**
 * Every document that is not a decision or an example, by who needs it. A test holds this against
 * the files and against the README.
 */
export const shelves: readonly Shelf[] = [
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
    paths: [...guides('deployment'), 'docs/operating.md', ...guides('monitoring'), 'bench/README.md'],
  },
  {
    name: 'Security reviewers',
    paths: [...guides('security-model', 'revocation', 'trust-and-keys'), 'SECURITY.md'],
  },
  { name: 'End users', paths: guides('for-users') },
  { name: 'Contributors', paths: ['ARCHITECTURE.md', 'CONTRIBUTING.md', 'docs/attacks.md', 'CHANGELOG.md'] },
]
