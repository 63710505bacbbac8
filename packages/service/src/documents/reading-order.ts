/** One group of the navigation, for one kind of reader, in reading order. */
export interface Section {
  readonly name: string
  readonly pages: readonly SectionPage[]
  /** Whether the navigation shows it folded, except on its own pages. */
  readonly isFolded?: boolean
}

interface SectionPage {
  /** In the repository. */
  readonly path: string
  /** In the navigation. Default: the title of the document. */
  readonly title?: string
}

const page = (path: string, title?: string): SectionPage => (title === undefined ? { path } : { path, title })
const guide = (name: string, title?: string): SectionPage => page(`docs/guides/${name}.md`, title)

/**
 * Every document except decisions and examples. A test compares this list with the files and with
 * the README.
 */
export const sections: readonly Section[] = [
  {
    name: 'Get started',
    pages: [
      page('README.md', 'Overview'),
      guide('quickstart', 'Quick start'),
      page('docs/comparison.md', 'How it compares'),
    ],
  },
  {
    name: 'Build',
    pages: [
      guide('protect-a-route'),
      guide('frameworks', 'Frameworks'),
      guide('forward-auth', 'Behind a reverse proxy'),
      guide('mcp-servers', 'MCP servers'),
      guide('bring-your-own-tokens', 'Tokens of your provider'),
      guide('sign-in', 'Sign people in'),
      guide('signals', 'Logout signals'),
      guide('webhooks'),
      guide('migrating', 'Move from JWTs'),
      guide('core', 'The core library'),
    ],
  },
  {
    name: 'Agents',
    pages: [guide('agents', 'Agents and delegation'), page('examples/README.md'), page('docs/cli.md', 'CLI')],
  },
  {
    name: 'Reference',
    pages: [page('docs/errors.md'), page('docs/interface.md', 'Interface details')],
  },
  {
    name: 'Operate',
    pages: [
      guide('console', 'Console'),
      guide('on-call'),
      guide('deployment'),
      page('docs/operating.md', 'Settings and operation'),
      guide('monitoring'),
      guide('personal-data'),
      guide('growth', 'Growth over ten years'),
      page('bench/README.md'),
    ],
  },
  {
    name: 'Security',
    pages: [
      guide('security-model'),
      guide('revocation', 'Revocation'),
      guide('trust-and-keys', 'Trust and keys'),
      page('SECURITY.md', 'Report a vulnerability'),
    ],
  },
  { name: 'For your users', pages: [guide('for-users', 'Wallet and sign-in help')] },
  {
    name: 'Contribute',
    isFolded: true,
    pages: [page('ARCHITECTURE.md'), page('CONTRIBUTING.md'), page('docs/attacks.md'), page('CHANGELOG.md')],
  },
]
