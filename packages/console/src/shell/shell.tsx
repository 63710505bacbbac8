import type { ComponentChildren, JSX } from 'preact'
import { useEffect } from 'preact/hooks'
import { isOperator, mayRevoke, session, signOut, sites } from '../api/session.ts'
import { notice } from '../components/copy.tsx'
import { Icon, type IconName, Seal } from '../components/icon.tsx'
import { StateMark } from '../components/state.tsx'
import { followSite, isPaused, liveLog, tick, verifiers } from '../live.ts'
import { countUpToDate } from '../pages/verifier-states.ts'
import { servicePages, sitePages } from '../pages.ts'
import { openRevoke, RevokeSheet } from '../revoke/sheet.tsx'
import { open, place, servicePath, sitePath } from '../router.ts'
import { formatDuration } from '../time.ts'
import { Palette, paletteOpen } from './palette.tsx'

interface Item {
  readonly page: string
  readonly title: string
  readonly icon: IconName
}

const GROUPS: readonly (readonly [title: string, items: readonly Item[]])[] = [
  ['', [{ page: 'overview', title: 'Overview', icon: 'overview' }]],
  [
    'Access',
    [
      { page: 'users', title: 'Users', icon: 'users' },
      { page: 'credentials', title: 'Credentials', icon: 'credentials' },
      { page: 'tokens', title: 'Tokens', icon: 'tokens' },
    ],
  ],
  [
    'Evidence',
    [
      { page: 'verifiers', title: 'Verifiers', icon: 'verifiers' },
      { page: 'receipts', title: 'Receipts', icon: 'receipts' },
      { page: 'drills', title: 'Drills', icon: 'drills' },
      { page: 'log', title: 'Log', icon: 'log' },
      { page: 'inspector', title: 'Inspector', icon: 'inspector' },
    ],
  ],
  [
    'Trust',
    [
      { page: 'issuers', title: 'Issuers and keys', icon: 'issuers' },
      { page: 'keys', title: 'API keys', icon: 'keys' },
      { page: 'webhooks', title: 'Webhooks', icon: 'webhooks' },
      { page: 'site', title: 'Site settings', icon: 'settings' },
    ],
  ],
  ['Service', [{ page: 'audit', title: 'Audit', icon: 'audit' }]],
]
const SERVICE: readonly Item[] = [
  { page: 'sites', title: 'Sites', icon: 'overview' },
  { page: 'audit', title: 'Audit of all sites', icon: 'audit' },
  { page: 'operator-keys', title: 'Operator keys', icon: 'keys' },
  { page: 'nodes', title: 'Nodes', icon: 'nodes' },
  { page: 'settings', title: 'Settings', icon: 'settings' },
]

export function Shell({ children }: { readonly children: ComponentChildren }): JSX.Element {
  const { siteId } = place.value
  useEffect(() => {
    if (siteId === undefined) return
    const stop = new AbortController()
    void followSite(siteId, stop.signal)
    return () => stop.abort()
  }, [siteId])
  return (
    <div class="shell">
      <a class="skip" href="#content">
        Skip to the content
      </a>
      <Rail />
      <TopBar />
      <main id="content" tabIndex={-1}>
        {children}
      </main>
      <Palette />
      <RevokeSheet />
      <output class="toast" aria-live="polite" hidden={notice.value === ''}>
        {notice.value}
      </output>
    </div>
  )
}

function Rail(): JSX.Element {
  const { siteId, page } = place.value
  const site = sites.value.find(({ site_id }) => site_id === siteId)
  const link = ({ page: name, title, icon }: Item, href: string) => (
    <li key={name}>
      <a href={href} aria-current={location.pathname.startsWith(href) && page === name ? 'page' : undefined}>
        <Icon name={icon} />
        <span>{title}</span>
        {name === 'verifiers' && <UpToDate />}
      </a>
    </li>
  )
  return (
    <nav class="rail" aria-label="Pages">
      <a class="brand" href={servicePath('')}>
        <Seal isProven size={24} /> Countersign
      </a>
      <label class="site">
        <span class="monogram" aria-hidden="true">
          {toMonogram(site?.name ?? siteId ?? '')}
        </span>
        <span class="visually-hidden">Site</span>
        <select
          value={siteId ?? ''}
          onChange={(event) => open(sitePath(event.currentTarget.value, 'overview'))}
        >
          {siteId === undefined && <option value="">All sites</option>}
          {sites.value.map(({ site_id, name }) => (
            <option key={site_id} value={site_id}>
              {name ?? site_id}
            </option>
          ))}
        </select>
        <Icon name="chevrons" />
      </label>
      {siteId !== undefined &&
        GROUPS.map(([title, items]) => (
          <section key={title}>
            {title !== '' && <h2>{title}</h2>}
            <ul>
              {items
                .filter(({ page: name }) => name in sitePages)
                .map((item) => link(item, sitePath(siteId, item.page)))}
              {title === 'Service' &&
                isOperator.value &&
                SERVICE.filter(({ page: name }) => name in servicePages).map((item) =>
                  link(item, servicePath(item.page)),
                )}
            </ul>
          </section>
        ))}
      {siteId === undefined && isOperator.value && (
        <section>
          <h2>Service</h2>
          <ul>
            {SERVICE.filter(({ page: name }) => name in servicePages).map((item) =>
              link(item, servicePath(item.page)),
            )}
          </ul>
        </section>
      )}
      <div class="person">
        <span class="monogram" aria-hidden="true">
          {toMonogram(session.value?.name ?? '')}
        </span>
        <span>
          <strong>{session.value?.name}</strong>
          <button type="button" class="link" onClick={() => void signOut()}>
            Sign out
          </button>
        </span>
      </div>
    </nav>
  )
}

function UpToDate(): JSX.Element | null {
  if (verifiers.value === undefined || verifiers.value.length === 0) return null
  const { good, all } = countUpToDate(verifiers.value)
  return (
    <span class="count">
      <StateMark tone={good === all ? 'good' : 'gone'} />
      {good} of {all}
    </span>
  )
}

function TopBar(): JSX.Element {
  const { siteId } = place.value
  return (
    <header class="top">
      <button type="button" class="search" onClick={() => (paletteOpen.value = true)}>
        <Icon name="inspector" />
        <span>Search users, ids, pages and actions</span>
        <kbd>Ctrl K</kbd>
      </button>
      <span class="grow" />
      {siteId !== undefined && <Live />}
      {mayRevoke(siteId) && (
        <button type="button" class="danger" onClick={() => openRevoke('')}>
          Revoke access <kbd>R</kbd>
        </button>
      )}
    </header>
  )
}

/** A head is proven every few seconds. After 10 seconds without one, nothing on the page is green. */
const LATE_MS = 10_000

export function isLive(): boolean {
  const known = liveLog.value
  return known !== undefined && tick.value - known.provenAtMs < LATE_MS
}

function Live(): JSX.Element {
  const known = liveLog.value
  const ageMs = known === undefined ? undefined : Math.max(0, tick.value - known.provenAtMs)
  const tone = isPaused.value || !isLive() ? 'silent' : 'good'
  const word = isPaused.value
    ? 'Paused'
    : known === undefined
      ? 'Connecting'
      : isLive()
        ? 'Live'
        : 'Not connected'
  return (
    <span class="live">
      <StateMark tone={tone} />
      <strong>{word}</strong>
      {known !== undefined && ageMs !== undefined && (
        <span class="meta">
          entry {known.seq.toLocaleString('en')}, proven {formatDuration(ageMs)} ago
        </span>
      )}
      <button
        type="button"
        class="icon-button"
        aria-pressed={isPaused.value}
        aria-label={isPaused.value ? 'Continue live updates' : 'Pause live updates'}
        onClick={() => (isPaused.value = !isPaused.value)}
      >
        <Icon name={isPaused.value ? 'play' : 'pause'} />
      </button>
    </span>
  )
}

function toMonogram(name: string): string {
  const words = name.split(/[\s._-]+/).filter((word) => word !== '')
  return words
    .slice(0, 2)
    .map((word) => [...word][0]?.toUpperCase() ?? '')
    .join('')
}
