import type { JSX } from 'preact'
import { isOperator, session, sites } from '../api/session.ts'
import { Passkeys } from '../people/own-passkeys.tsx'
import { Sessions } from '../people/own-sessions.tsx'
import { People } from '../people/people-list.tsx'
import { roleTitles } from '../people/role-words.ts'
import { place, servicePath } from '../router.ts'
import { chooseTheme, type Theme, theme, themes } from '../theme.ts'
import { formatMoment } from '../time.ts'

/** One's own account, and for operators the people who may sign in. */
export function Settings(): JSX.Element {
  const isPeople = place.value.id === 'people' && isOperator.value
  const tab = (path: string, title: string, isCurrent: boolean) => (
    <a href={servicePath(path)} aria-current={isCurrent ? 'page' : undefined}>
      {title}
    </a>
  )
  return (
    <>
      <div class="title">
        <h1>Settings</h1>
      </div>
      {isOperator.value && (
        <nav class="tabs" aria-label="Settings">
          {tab('settings', 'Your account', !isPeople)}
          {tab('settings/people', 'People', isPeople)}
        </nav>
      )}
      {isPeople ? (
        <People />
      ) : (
        <div class="stack">
          <You />
          <Passkeys />
          <Sessions />
          <Appearance />
        </div>
      )}
    </>
  )
}

function You(): JSX.Element | null {
  const you = session.value
  if (you === undefined) return null
  return (
    <section class="card" aria-labelledby="you">
      <h2 id="you">{you.name}</h2>
      <ul class="roles">
        {you.roles.length === 0 && <li>You have no role yet. Ask an operator for one.</li>}
        {you.roles.map(({ site_id, role }) => (
          <li key={site_id ?? ''}>
            <strong>{roleTitles[role]}</strong>{' '}
            {site_id === null
              ? 'for all sites'
              : `at ${sites.value.find((site) => site.site_id === site_id)?.name ?? site_id}`}
          </li>
        ))}
      </ul>
      <p class="meta">
        This session ends at {formatMoment(you.expires_at)} UTC, or after 30 minutes without use.
      </p>
    </section>
  )
}

const THEME_WORDS: Readonly<Record<Theme, string>> = {
  system: 'As the system',
  light: 'Light',
  dark: 'Dark',
}

function Appearance(): JSX.Element {
  return (
    <section class="card" aria-labelledby="appearance">
      <h2 id="appearance">Appearance</h2>
      <fieldset class="choices">
        <legend class="visually-hidden">Theme</legend>
        {themes.map((each) => (
          <button
            key={each}
            type="button"
            aria-pressed={theme.value === each}
            onClick={() => chooseTheme(each)}
          >
            {THEME_WORDS[each]}
          </button>
        ))}
      </fieldset>
      <p class="meta">Kept in this browser only.</p>
    </section>
  )
}
