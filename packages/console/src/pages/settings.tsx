import type { JSX } from 'preact'
import { isOperator, session, sites } from '../api/session.ts'
import { Passkeys } from '../people/own-passkeys.tsx'
import { Sessions } from '../people/own-sessions.tsx'
import { People } from '../people/people-list.tsx'
import { roleTitles } from '../people/role-words.ts'
import { place, servicePath } from '../router.ts'
import { say } from '../say.ts'
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
        <h1>{say('Settings')}</h1>
      </div>
      {isOperator.value && (
        <nav class="tabs" aria-label={say('Settings')}>
          {tab('settings', say('Your account'), !isPeople)}
          {tab('settings/people', say('People'), isPeople)}
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
        {you.roles.length === 0 && <li>{say('You have no role yet. Ask an operator for one.')}</li>}
        {you.roles.map(({ site_id, role }) => (
          <li key={site_id ?? ''}>
            <strong>{roleTitles[role]}</strong>{' '}
            {site_id === null
              ? say('for all sites')
              : say('at {name}', {
                  name: sites.value.find((site) => site.site_id === site_id)?.name ?? site_id,
                })}
          </li>
        ))}
      </ul>
      <p class="meta">
        {say('This session ends at {time}, or after 30 minutes without use.', {
          time: say('{time} UTC', { time: formatMoment(you.expires_at) }),
        })}
      </p>
    </section>
  )
}

const THEME_WORDS: Readonly<Record<Theme, string>> = {
  system: say('As the system'),
  light: say('Light'),
  dark: say('Dark'),
}

function Appearance(): JSX.Element {
  return (
    <section class="card" aria-labelledby="appearance">
      <h2 id="appearance">{say('Appearance')}</h2>
      <fieldset class="choices">
        <legend class="visually-hidden">{say('Theme')}</legend>
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
      <p class="meta">{say('Kept in this browser only.')}</p>
    </section>
  )
}
