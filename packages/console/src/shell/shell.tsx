import type { ComponentChildren, JSX } from 'preact'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { isAway } from '../api/call.ts'
import { isOperator, mayRevoke, session, signOut, sites } from '../api/session.ts'
import { Icon, type IconName, Seal } from '../components/icon.tsx'
import { toMonogram } from '../components/monogram.tsx'
import { notice } from '../components/notice.ts'
import { StateMark } from '../components/state.tsx'
import { lastSite, menuOpen, nearSite, paletteOpen, toTooltip } from '../keyboard.ts'
import { entriesHeld, followSite, isLive, isPaused, liveLog, tick, verifiers } from '../live.ts'
import { countUpToDate } from '../pages/verifier-states.ts'
import { servicePages, sitePages } from '../pages.ts'
import { SignInDialogs } from '../people/step-up.tsx'
import { describeAct } from '../revoke/counts.ts'
import { openAct, openActs, openRevoke, sheet } from '../revoke/state.ts'
import { open, place, servicePath, sitePath } from '../router.ts'
import { say, sayCount } from '../say.ts'
import { formatAge } from '../time.ts'
import { Help } from './help.tsx'
import { Palette } from './palette.tsx'

interface Item {
  readonly page: string
  readonly title: string
  readonly icon: IconName
}

const GROUPS: readonly (readonly [title: string, items: readonly Item[]])[] = [
  ['', [{ page: 'overview', title: say('Overview'), icon: 'overview' }]],
  [
    say('Access'),
    [
      { page: 'users', title: say('Users'), icon: 'users' },
      { page: 'credentials', title: say('Credentials'), icon: 'credentials' },
      { page: 'tokens', title: say('Tokens'), icon: 'tokens' },
    ],
  ],
  [
    say('Evidence'),
    [
      { page: 'verifiers', title: say('Verifiers'), icon: 'verifiers' },
      { page: 'receipts', title: say('Receipts'), icon: 'receipts' },
      { page: 'drills', title: say('Drills'), icon: 'drills' },
      { page: 'log', title: say('Log'), icon: 'log' },
      { page: 'inspector', title: say('Inspector'), icon: 'inspector' },
    ],
  ],
  [
    say('Trust'),
    [
      { page: 'issuers', title: say('Issuers and keys'), icon: 'issuers' },
      { page: 'keys', title: say('API keys'), icon: 'keys' },
      { page: 'webhooks', title: say('Webhooks'), icon: 'webhooks' },
      { page: 'site', title: say('Site settings'), icon: 'settings' },
    ],
  ],
  [say('Service'), [{ page: 'audit', title: say('Audit'), icon: 'audit' }]],
]
const SERVICE: readonly Item[] = [
  { page: 'all-sites', title: say('Sites'), icon: 'overview' },
  { page: 'audit', title: say('Audit of all sites'), icon: 'audit' },
  { page: 'operator-keys', title: say('Operator keys'), icon: 'keys' },
  { page: 'nodes', title: say('Nodes'), icon: 'nodes' },
  { page: 'settings', title: say('Settings'), icon: 'settings' },
]

/** Everyone has settings; the rest of the service is for operators. */
function isShown({ page }: Item): boolean {
  return page in servicePages && (page === 'settings' || isOperator.value)
}

/** The title of a page, for the tab of the browser. It has no id and no name of a user. */
function findTitle(siteId: string | undefined, page: string): string | undefined {
  const items = siteId === undefined ? SERVICE : GROUPS.flatMap(([, each]) => each)
  const title = items.find((item) => item.page === page)?.title
  return title === undefined || siteId === undefined ? title : `${title}, ${siteId}`
}

export function Shell({ children }: { readonly children: ComponentChildren }): JSX.Element {
  const { siteId } = place.value
  useEffect(() => {
    if (siteId === undefined) return
    const stop = new AbortController()
    void followSite(siteId, stop.signal)
    return () => stop.abort()
  }, [siteId])
  const here = place.value
  useEffect(() => {
    menuOpen.value = false
  }, [here])
  useEffect(() => {
    const title = findTitle(here.siteId, here.page)
    document.title = title === undefined ? 'Countersign' : `${title} – Countersign`
    return () => {
      document.title = 'Countersign'
    }
  }, [here.siteId, here.page])
  const isStale = siteId === undefined ? isAway.value : !isLive()
  return (
    <div class="shell" data-stale={isStale ? '' : undefined}>
      <a class="skip" href="#content">
        {say('Skip to the content')}
      </a>
      <Rail />
      <TopBar />
      <main id="content" tabIndex={-1}>
        <NotLive />
        {children}
      </main>
      <Palette />
      <Help />
      <LazyRevokeSheet />
      <SignInDialogs />
      <output class="toast" aria-live="polite" hidden={notice.value === ''}>
        {notice.value}
      </output>
    </div>
  )
}

const SHEET_AFTER_MS = 500
const SHEET_AGAIN_MS = 1000

/** Loaded just after the first page, so that it is there before it is needed. */
function LazyRevokeSheet(): JSX.Element | null {
  const [part, setPart] = useState<{ readonly Sheet: () => JSX.Element }>()
  const isWanted = sheet.value.at !== 'closed'
  useEffect(() => {
    if (part !== undefined) return
    const load = () =>
      import('../revoke/sheet.tsx').then(
        ({ RevokeSheet }) => setPart({ Sheet: RevokeSheet }),
        () => {
          timer = setTimeout(load, SHEET_AGAIN_MS)
        },
      )
    let timer = setTimeout(load, isWanted ? 0 : SHEET_AFTER_MS)
    return () => clearTimeout(timer)
  }, [isWanted])
  return part === undefined ? null : <part.Sheet />
}

function Rail(): JSX.Element {
  const { siteId: current, page } = place.value
  useEffect(() => {
    if (current !== undefined) lastSite.value = current
  }, [current])
  const siteId = nearSite.value
  const site = sites.value.find(({ site_id }) => site_id === siteId)
  const link = ({ page: name, title, icon }: Item, href: string) => (
    <li key={name}>
      <a href={href} aria-current={location.pathname.startsWith(href) && page === name ? 'page' : undefined}>
        <Icon name={icon} />
        <span>{title}</span>
        {name === 'verifiers' && current !== undefined && <UpToDate />}
      </a>
    </li>
  )
  const nav = useRef<HTMLElement>(null)
  // Before the menu is painted: the next key belongs to it.
  useLayoutEffect(() => (menuOpen.value ? enterMenu(nav.current) : undefined), [menuOpen.value])
  return (
    <nav ref={nav} class={menuOpen.value ? 'rail open' : 'rail'} aria-label={say('Pages')}>
      <button
        type="button"
        class="icon-button close-menu"
        aria-label={say('Close')}
        onClick={() => (menuOpen.value = false)}
      >
        <Icon name="close" />
      </button>
      <a class="brand" href={servicePath('')}>
        <Seal isProven size={24} /> Countersign
      </a>
      <label class="site">
        <span class="monogram" aria-hidden="true">
          {siteId === undefined ? <Icon name="overview" /> : toMonogram(site?.name ?? siteId)}
        </span>
        <span class="visually-hidden">{say('Site')}</span>
        <select
          value={siteId ?? ''}
          onChange={(event) => open(sitePath(event.currentTarget.value, 'overview'))}
        >
          {siteId === undefined && <option value="">{say('All sites')}</option>}
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
              {title === say('Service') &&
                SERVICE.filter(isShown).map((item) => link(item, servicePath(item.page)))}
            </ul>
          </section>
        ))}
      {siteId === undefined && (
        <section>
          <h2>{say('Service')}</h2>
          <ul>{SERVICE.filter(isShown).map((item) => link(item, servicePath(item.page)))}</ul>
        </section>
      )}
      <div class="person">
        <span class="monogram" aria-hidden="true">
          {toMonogram(session.value?.name ?? '')}
        </span>
        <span>
          <strong>{session.value?.name}</strong>
          <button type="button" class="link" onClick={() => void signOut()}>
            {say('Sign out')}
          </button>
        </span>
      </div>
    </nav>
  )
}

/** Puts the focus into the open menu. Returns what takes it back to the button of the menu. */
function enterMenu(nav: HTMLElement | null): () => void {
  nav?.querySelector<HTMLElement>('.close-menu')?.focus()
  const close = ({ type, target }: Event) => {
    if (!(target instanceof Element) || nav === null) return
    // A link may lead to the page that is open already.
    const isLeft = type === 'click' ? target.closest('.rail a') !== null : !nav.contains(target)
    if (isLeft) menuOpen.value = false
  }
  const events = ['click', 'pointerdown', 'focusin']
  for (const event of events) document.addEventListener(event, close)
  return () => {
    for (const event of events) document.removeEventListener(event, close)
    // What had the focus is hidden now, or about to be.
    const { activeElement, body } = document
    if (activeElement === body || nav?.contains(activeElement))
      document.querySelector<HTMLElement>('.menu-button')?.focus()
  }
}

function UpToDate(): JSX.Element | null {
  if (verifiers.value === undefined || verifiers.value.length === 0) return null
  const { good, all } = countUpToDate(verifiers.value)
  return (
    <span class="count">
      <StateMark tone={good === all ? 'good' : 'gone'} />
      {say('{good} of {all}', { good, all })}
    </span>
  )
}

function TopBar(): JSX.Element {
  const { siteId } = place.value
  return (
    <header class="top">
      <button
        type="button"
        class="icon-button menu-button"
        aria-label={say('Menu')}
        aria-expanded={menuOpen.value}
        onClick={() => (menuOpen.value = !menuOpen.value)}
      >
        <Icon name="menu" />
      </button>
      <button
        type="button"
        class="search"
        title={toTooltip('search')}
        onClick={() => (paletteOpen.value = true)}
      >
        <Icon name="inspector" />
        <span>{say('Search users, ids, pages and actions')}</span>
        <kbd>Ctrl K</kbd>
      </button>
      <span class="grow" />
      <OpenActs />
      {siteId !== undefined && <Live />}
      {siteId !== undefined && mayRevoke(siteId) && (
        <button
          type="button"
          class="danger"
          title={toTooltip('revoke')}
          onClick={() => openRevoke(siteId, '')}
        >
          <span>
            <span class="shorter" aria-hidden="true">
              {say('Revoke')}
            </span>
            <span class="longer">{say('Revoke access')}</span>
          </span>{' '}
          <kbd>R</kbd>
        </button>
      )}
    </header>
  )
}

/** What goes on after its sheet was closed: answers that have not come, receipts that fill up. */
function OpenActs(): JSX.Element {
  const shown = sheet.value.at === 'act' ? sheet.value.act : undefined
  const others = openActs.value.filter((act) => act !== shown)
  return (
    <>
      {others.slice(-2).map((act) => {
        const isUnknown = act.progress.value.at === 'unknown'
        return (
          <button
            key={act.id}
            type="button"
            class={isUnknown ? 'open-act unknown' : 'open-act'}
            onClick={() => openAct(act)}
          >
            <StateMark tone={isUnknown ? 'soon' : 'late'} />
            <span>{describeAct(act)}</span>
          </button>
        )
      })}
    </>
  )
}

/** What the page knows when nothing is proven any more, how old it is, and that it will not act. */
function NotLive(): JSX.Element | null {
  const known = liveLog.value
  const { siteId } = place.value
  if (
    siteId === undefined
      ? !isAway.value
      : !isAway.value && (known === undefined || isLive() || isPaused.value)
  )
    return null
  return (
    <div class="notice amber not-live">
      <StateMark tone="silent" size={14} />
      <span>
        <strong role="status">
          {isAway.value
            ? say('The service does not answer. This page will not act until it answers again.')
            : say('Nothing is proven at this moment: the service has sent no signed head.')}
        </strong>{' '}
        {known !== undefined && (
          <>
            {say('What is shown was known {age} ago, at entry {seq}.', {
              age: formatAge(tick.value - known.provenAtMs),
              seq: known.seq,
            })}{' '}
          </>
        )}
        {say('It catches up by itself.')}
      </span>
    </div>
  )
}

function Live(): JSX.Element {
  const known = liveLog.value
  const tone = isPaused.value || !isLive() ? 'silent' : 'good'
  const word = isPaused.value
    ? say('Paused')
    : known === undefined
      ? say('Connecting')
      : isLive()
        ? say('Live')
        : say('Not connected')
  const state = isPaused.value ? 'paused' : isLive() ? 'on' : 'away'
  return (
    <span class={`live ${state}`}>
      <StateMark tone={tone} />
      <strong>{word}</strong>
      {known !== undefined && (
        <span class="meta">
          {isPaused.value && entriesHeld.value > 0
            ? sayCount(
                entriesHeld.value,
                'entry {seq}, {count} new since',
                'entry {seq}, {count} new since',
                {
                  seq: known.seq,
                },
              )
            : say('entry {seq}, proven {age} ago', {
                seq: known.seq,
                age: formatAge(tick.value - known.provenAtMs),
              })}
        </span>
      )}
      <button
        type="button"
        class="icon-button"
        aria-pressed={isPaused.value}
        aria-label={isPaused.value ? say('Continue live updates') : say('Pause live updates')}
        title={toTooltip('pause')}
        onClick={() => (isPaused.value = !isPaused.value)}
      >
        <Icon name={isPaused.value ? 'play' : 'pause'} />
      </button>
    </span>
  )
}
