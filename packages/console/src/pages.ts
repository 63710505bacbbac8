import type { JSX } from 'preact'
import type { SiteProps } from './site-props.ts'

type Page = (props: SiteProps) => JSX.Element

/**
 * The pages of a site, by their name in the address. Each is loaded when it is first opened, so
 * that the first page is small.
 */
export const sitePages: Readonly<Record<string, () => Promise<Page>>> = {
  overview: async () => (await import('./pages/overview.tsx')).Overview,
  users: async () => (await import('./pages/users.tsx')).Users,
  credentials: async () => (await import('./pages/credentials.tsx')).Credentials,
  tokens: async () => (await import('./pages/tokens.tsx')).Tokens,
  verifiers: async () => (await import('./pages/verifiers.tsx')).Verifiers,
  receipts: async () => (await import('./pages/receipts.tsx')).Receipts,
  drills: async () => (await import('./pages/drills.tsx')).Drills,
  log: async () => (await import('./pages/log.tsx')).Log,
  inspector: async () => (await import('./pages/inspector.tsx')).Inspector,
  issuers: async () => (await import('./pages/issuers.tsx')).Issuers,
  keys: async () => (await import('./pages/api-keys.tsx')).ApiKeys,
  webhooks: async () => (await import('./pages/webhooks.tsx')).Webhooks,
  audit: async () => (await import('./pages/audit.tsx')).Audit,
  site: async () => (await import('./pages/site-settings.tsx')).SiteSettings,
}

/** The pages of the whole service. */
export const servicePages: Readonly<Record<string, () => Promise<() => JSX.Element>>> = {
  'all-sites': async () => (await import('./pages/sites.tsx')).Sites,
  audit: async () => (await import('./pages/service-audit.tsx')).ServiceAudit,
  settings: async () => (await import('./pages/settings.tsx')).Settings,
  nodes: async () => (await import('./pages/nodes.tsx')).Nodes,
  'operator-keys': async () => (await import('./pages/operator-keys.tsx')).OperatorKeys,
}
