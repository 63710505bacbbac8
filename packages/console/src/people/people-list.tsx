import type { ConsoleLink, ConsoleRole, Person } from '@countersign/core/contract'
import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { toCli } from '../api/command.ts'
import { session, sites } from '../api/session.ts'
import { ActSheet, Sheet } from '../components/act-sheet.tsx'
import { AsCommand } from '../components/as-command.tsx'
import { copyText } from '../components/copy.tsx'
import { Fault } from '../components/fault.tsx'
import { Icon } from '../components/icon.tsx'
import { Id } from '../components/id.tsx'
import { List } from '../components/list.tsx'
import { Menu } from '../components/menu.tsx'
import { showNotice } from '../components/notice.ts'
import { Pill } from '../components/state.tsx'
import { useAct } from '../components/use-act.ts'
import { open, servicePath } from '../router.ts'
import { say } from '../say.ts'
import { closeSheet, openSheet, sheet } from '../sheet-place.ts'
import { formatMoment } from '../time.ts'
import { SignInsSheet } from './person-sign-ins.tsx'
import { roleTitles, roleWords } from './role-words.ts'
import { callWithStepUp } from './step-up.tsx'

type Roles = Person['roles']

/** The people who may sign in, for operators. */
export function People(): JSX.Element {
  const [version, setVersion] = useState(0)
  const [known, setKnown] = useState<Readonly<Record<string, Person>>>({})
  const { act, on } = sheet.value
  const chosen = on === undefined ? undefined : known[on]
  const finish = (words: string) => {
    closeSheet()
    setVersion((last) => last + 1)
    showNotice(words)
  }
  return (
    <>
      <List<Person>
        title={say('People')}
        isPart
        about={say('People sign in as themselves, so the audit log names them. API keys are for programs.')}
        siteId="all"
        path="/api/people"
        version={version}
        toKey={({ person_id }) => person_id}
        toCli={() => toCli(['people', 'list'])}
        onItems={(items) => setKnown(Object.fromEntries(items.map((item) => [item.person_id, item])))}
        actions={
          <button type="button" class="primary" onClick={() => openSheet('add')}>
            {say('Add a person')}
          </button>
        }
        columns={[
          {
            title: say('Person'),
            cell: ({ person_id, name }) => (
              <span class="two-lines">
                <strong>
                  {name} {isYou(person_id) && <span class="you">{say('you')}</span>}
                </strong>
                <Id value={person_id} />
              </span>
            ),
          },
          { title: say('Roles'), cell: ({ roles }) => <RoleList roles={roles} /> },
          {
            title: say('Access'),
            cell: ({ status }) =>
              status === 'active' ? (
                <Pill tone="good">{say('Active')}</Pill>
              ) : (
                <Pill tone="none">{say('Ended')}</Pill>
              ),
            isExtra: true,
          },
          {
            title: say('Added'),
            cell: ({ created_at }) => formatMoment(created_at),
            isNumber: true,
            isExtra: true,
          },
        ]}
        rowActions={(person) => <Acts person={person} />}
        empty={{
          sentence: say('There is no person yet.'),
          command: toCli(['people', 'add', 'Ada'], { role: 'operator' }),
        }}
      />
      <p class="meta foot">
        {say(
          'You cannot end or reduce your own access here: ask another operator, so that one always remains.',
        )}
      </p>
      {act === 'add' && <PersonSheet onDone={() => finish(say('The person was added.'))} />}
      {act === 'change' && chosen !== undefined && (
        <PersonSheet key={on} chosen={chosen} onDone={() => finish(say('The person was changed.'))} />
      )}
      {act === 'end' && chosen !== undefined && (
        <EndSheet chosen={chosen} onDone={() => finish(say('The access was ended.'))} />
      )}
      {act === 'reactivate' && chosen !== undefined && (
        <ReactivateSheet chosen={chosen} onDone={() => finish(say('The person has access again.'))} />
      )}
      {act === 'sign-ins' && chosen !== undefined && <SignInsSheet key={on} chosen={chosen} />}
      {act === 'link' && chosen !== undefined && <LinkSheet key={on} chosen={chosen} />}
    </>
  )
}

function isYou(personId: string): boolean {
  return session.value?.person_id === personId
}

function Acts({ person: { person_id, name, status } }: { readonly person: Person }): JSX.Element {
  const audit = {
    title: say('Show their audit rows'),
    run: () => open(`${servicePath('audit')}?${new URLSearchParams({ actor: `person:${person_id}` })}`),
  }
  const others =
    status === 'active'
      ? [
          { title: say('Make a sign-in link'), run: () => openSheet('link', person_id) },
          { title: say('Change'), run: () => openSheet('change', person_id) },
          { title: say('Sessions and passkeys'), run: () => openSheet('sign-ins', person_id) },
          audit,
          { title: say('End access'), isDanger: true, run: () => openSheet('end', person_id) },
        ]
      : [{ title: say('Give access back'), run: () => openSheet('reactivate', person_id) }, audit]
  return (
    <Menu
      class="quiet icon-button"
      name={say('Actions for {name}', { name })}
      label="⋯"
      items={isYou(person_id) ? [audit] : others}
    />
  )
}

function RoleList({ roles }: { readonly roles: Roles }): JSX.Element {
  if (roles.length === 0) return <span class="meta">{say('none')}</span>
  return (
    <ul class="scopes">
      {roles.map(({ site_id, role }) => (
        <li key={site_id ?? ''} title={roleWords[role]}>
          {site_id === null
            ? roleTitles[role]
            : say('{role} at {site}', { role: roleTitles[role], site: toSiteName(site_id) })}
        </li>
      ))}
    </ul>
  )
}

function toSiteName(siteId: string): string {
  return sites.value.find(({ site_id }) => site_id === siteId)?.name ?? siteId
}

/** As the command line writes them: `responder@shop.example`. */
function toRoleOptions(roles: Roles): readonly string[] {
  return roles.map(({ site_id, role }) => (site_id === null ? role : `${role}@${site_id}`))
}

interface PersonSheetProps {
  /** Undefined for a new person. */
  readonly chosen?: Person
  readonly onDone: () => void
}

function PersonSheet({ chosen, onDone }: PersonSheetProps): JSX.Element {
  const [name, setName] = useState(chosen?.name ?? '')
  const [roles, setRoles] = useState<Roles>(chosen?.roles ?? [])
  const said = name.trim()
  const body = (reason: string | undefined) => ({ name: said, roles, reason })
  return (
    <ActSheet<Person>
      title={chosen === undefined ? say('Add a person') : say('Change a person')}
      siteId="all"
      verb={chosen === undefined ? say('Add the person') : say('Change')}
      busyVerb={chosen === undefined ? say('Adding…') : say('Changing…')}
      toRequest={(reason) =>
        said === ''
          ? undefined
          : {
              method: chosen === undefined ? 'POST' : 'PATCH',
              path: chosen === undefined ? '/api/people' : `/api/people/${chosen.person_id}`,
              site: 'all',
              body: body(reason),
            }
      }
      toCli={(reason) =>
        chosen === undefined
          ? toCli(['people', 'add', said], { role: toRoleOptions(roles), reason })
          : toCli(['people', 'change', chosen.person_id], {
              name: said,
              role: toRoleOptions(roles),
              'no-roles': roles.length === 0,
              reason,
            })
      }
      onDone={onDone}
      onClose={closeSheet}
    >
      <label>
        {say('Name')}
        <input
          data-first=""
          maxLength={64}
          autocomplete="off"
          value={name}
          placeholder="Ada Lovelace"
          onInput={(event) => setName(event.currentTarget.value)}
        />
      </label>
      <RoleFields roles={roles} onChange={setRoles} />
      {chosen === undefined && (
        <p class="hint">
          {say('To sign the person in for the first time, make a link for them afterwards.')}
        </p>
      )}
    </ActSheet>
  )
}

interface RoleFieldsProps {
  readonly roles: Roles
  readonly onChange: (roles: Roles) => void
}

const SITE_ROLES = ['viewer', 'responder', 'issuing', 'admin'] as const satisfies readonly ConsoleRole[]

function RoleFields({ roles, onChange }: RoleFieldsProps): JSX.Element {
  const isOperator = roles.some(({ role }) => role === 'operator')
  const free = sites.value.filter(({ site_id }) => !roles.some((each) => each.site_id === site_id))
  return (
    <fieldset class="role-fields">
      <legend>{say('Roles')}</legend>
      <label class="check">
        <input
          type="checkbox"
          checked={isOperator}
          onChange={({ currentTarget: { checked } }) =>
            onChange(checked ? [{ site_id: null, role: 'operator' }] : [])
          }
        />
        <span>
          {roleTitles.operator}{' '}
          <span class="hint">{say('everything at every site, and manages people')}</span>
        </span>
      </label>
      {!isOperator &&
        roles.map(({ site_id, role }) => (
          <div key={site_id} class="role-row">
            <label>
              {toSiteName(site_id ?? '')}
              <select
                value={role}
                onChange={({ currentTarget: { value } }) =>
                  onChange(
                    roles.map((each) =>
                      each.site_id === site_id ? { site_id, role: value as ConsoleRole } : each,
                    ),
                  )
                }
              >
                {SITE_ROLES.map((each) => (
                  <option key={each} value={each}>
                    {roleTitles[each]}: {roleWords[each]}
                  </option>
                ))}
              </select>
            </label>
            <button
              type="button"
              class="quiet icon-button"
              aria-label={say('Remove the role at {site}', { site: site_id ?? '' })}
              onClick={() => onChange(roles.filter((each) => each.site_id !== site_id))}
            >
              <Icon name="close" />
            </button>
          </div>
        ))}
      {!isOperator && free.length > 0 && (
        <label>
          <span class="visually-hidden">{say('Add a role at a site')}</span>
          <select
            value=""
            onChange={({ currentTarget }) => {
              if (currentTarget.value !== '')
                onChange([...roles, { site_id: currentTarget.value, role: 'viewer' }])
              currentTarget.value = ''
            }}
          >
            <option value="">{say('Add a role at a site…')}</option>
            {free.map(({ site_id, name }) => (
              <option key={site_id} value={site_id}>
                {name ?? site_id}
              </option>
            ))}
          </select>
        </label>
      )}
    </fieldset>
  )
}

interface ChosenProps {
  readonly chosen: Person
  readonly onDone: () => void
}

function EndSheet({ chosen, onDone }: ChosenProps): JSX.Element {
  return (
    <ActSheet<Person>
      title={say('End access')}
      siteId="all"
      verb={say('End access')}
      busyVerb={say('Ending…')}
      isEnding
      toRequest={(reason) => ({
        method: 'PATCH',
        path: `/api/people/${chosen.person_id}`,
        site: 'all',
        body: { status: 'ended', reason },
      })}
      toCli={(reason) => toCli(['people', 'end', chosen.person_id], { reason, yes: true })}
      onDone={onDone}
      onClose={closeSheet}
    >
      <p class="lead">
        <strong>{chosen.name}</strong>
      </p>
      <ul class="plain">
        <li>{say('Their sessions end, on every node within two seconds.')}</li>
        <li>{say('Their links and passkeys are removed.')}</li>
        <li>
          {say('API keys that they have created {strong}. Delete those separately.', {
            strong: <strong>{say('stay valid')}</strong>,
          })}
        </li>
      </ul>
    </ActSheet>
  )
}

function ReactivateSheet({ chosen, onDone }: ChosenProps): JSX.Element {
  return (
    <ActSheet<Person>
      title={say('Give access back')}
      siteId="all"
      verb={say('Give access back')}
      busyVerb={say('Changing…')}
      toRequest={(reason) => ({
        method: 'PATCH',
        path: `/api/people/${chosen.person_id}`,
        site: 'all',
        body: { status: 'active', reason },
      })}
      toCli={(reason) => toCli(['people', 'change', chosen.person_id], { reactivate: true, reason })}
      onDone={onDone}
      onClose={closeSheet}
    >
      <p class="lead">
        {say('{name} gets the same roles as before:', { name: <strong>{chosen.name}</strong> })}
      </p>
      <RoleList roles={chosen.roles} />
      <p>{say('They sign in with a new link, and add their passkeys again.')}</p>
    </ActSheet>
  )
}

/** A link is shown once, while it is valid. */
function LinkSheet({ chosen }: { readonly chosen: Person }): JSX.Element {
  const [link, setLink] = useState<ConsoleLink>()
  const [left, setLeft] = useState(0)
  const { isBusy, fault, run } = useAct()
  useEffect(() => {
    if (link === undefined) return
    const timer = setInterval(
      () => setLeft(Math.max(0, Math.ceil((Date.parse(link.expires_at) - Date.now()) / 1000))),
      250,
    )
    return () => clearInterval(timer)
  }, [link])
  const request = {
    method: 'POST',
    path: `/api/people/${chosen.person_id}/links`,
    site: 'all',
  } as const
  const make = () =>
    run(async (idempotencyKey) => {
      const { path, ...options } = request
      const made = await callWithStepUp<ConsoleLink>(path, { ...options, idempotencyKey })
      setLeft(Math.max(0, Math.ceil((Date.parse(made.expires_at) - Date.now()) / 1000)))
      setLink(made)
    })
  return (
    <Sheet title={say('Make a sign-in link')} onClose={closeSheet}>
      <div class="body">
        <p>
          {say(
            'The link signs {name} in, once, within a minute. Anyone who has it can use it, so give it to them directly. The audit log names you as its maker.',
            { name: <strong>{chosen.name}</strong> },
          )}
        </p>
        {link !== undefined && left > 0 && (
          <>
            <div class="secret">
              <code>{link.url}</code>
              <button type="button" data-first="" onClick={() => void copyText(link.url)}>
                <Icon name="copy" />
                {say('Copy')}
              </button>
            </div>
            <p class="meta" role="timer">
              {say('Valid for {left} s.', { left })}
            </p>
          </>
        )}
        {link !== undefined && left === 0 && (
          <p class="banner" role="status">
            <strong>{say('This link has expired.')}</strong> {say('If it was not used, make another one.')}
          </p>
        )}
        <Fault text={fault} />
      </div>
      <footer>
        <AsCommand curl={request} cli={toCli(['console'], { person: chosen.person_id })} />
        <span class="grow" />
        <button type="button" onClick={closeSheet}>
          {say('Close')}
        </button>
        {(link === undefined || left === 0) && (
          <button type="button" class="primary" data-first="" disabled={isBusy} onClick={() => void make()}>
            {say('Make the link')}
          </button>
        )}
      </footer>
    </Sheet>
  )
}
