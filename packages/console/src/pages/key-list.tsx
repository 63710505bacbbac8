import type { ApiKey, OperatorKey, Permission } from '@countersign/core/contract'
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { ApiRequest } from '../api/call.ts'
import { toCli } from '../api/command.ts'
import { ActSheet } from '../components/act-sheet.tsx'
import { Actor } from '../components/actor.tsx'
import { useAfterRevoke } from '../components/after-revoke.ts'
import { Checks } from '../components/checks.tsx'
import { List } from '../components/list.tsx'
import { Menu } from '../components/menu.tsx'
import { showNotice } from '../components/notice.ts'
import { SecretSheet } from '../components/secret-sheet.tsx'
import { Pill } from '../components/state.tsx'
import { startRevokeTarget } from '../revoke/state.ts'
import { auditPath, open, servicePath } from '../router.ts'
import { say } from '../say.ts'
import { closeSheet, openSheet, sheet } from '../sheet-place.ts'
import { formatHour, formatMoment } from '../time.ts'
import { permissionWords } from './permission-words.ts'

type Key = OperatorKey & { readonly permissions?: ApiKey['permissions'] }

interface KeyListProps {
  readonly title: string
  readonly about: string
  readonly siteId: string
  readonly path: string
  readonly toKeyPath: (keyId: string) => string
  readonly hasPermissions?: boolean
  readonly mayChange: boolean
  readonly cliOptions: Readonly<Record<string, string | boolean>>
  /** How many verifiers follow the log with the key now. */
  readonly countVerifiers?: (keyId: string) => number
  readonly empty: { readonly sentence: string; readonly command: string }
}

/** Keys of a site or of operators: the same list and the same acts. */
export function KeyList<Item extends Key>(props: KeyListProps): JSX.Element {
  const { siteId, path, hasPermissions = false, mayChange } = props
  const [version, setVersion] = useState(0)
  const [known, setKnown] = useState<Readonly<Record<string, Key>>>({})
  const [created, setCreated] = useState<{ readonly api_key: string; readonly key_id: string }>()
  const { act, on } = sheet.value
  const chosen = on === undefined ? undefined : known[on]
  const finish = (words: string) => {
    closeSheet()
    setVersion((last) => last + 1)
    showNotice(words)
  }
  useAfterRevoke(() => setVersion((last) => last + 1))
  const common = { ...props, onClose: closeSheet }
  return (
    <>
      <List<Item>
        title={props.title}
        about={props.about}
        siteId={siteId}
        path={path}
        version={version}
        toKey={({ key_id }) => key_id}
        toCli={() => toCli(['keys', 'list'], props.cliOptions)}
        onItems={(items) => setKnown(Object.fromEntries(items.map((item) => [item.key_id, item])))}
        actions={
          mayChange && (
            <button type="button" class="primary" onClick={() => openSheet('create')}>
              {say('Create a key')}
            </button>
          )
        }
        columns={[
          {
            title: say('Key'),
            cell: ({ label, last4 }) => (
              <span class="two-lines">
                <strong>{label ?? say('Without a label')}</strong>
                <code class="meta">…{last4}</code>
              </span>
            ),
          },
          ...(hasPermissions
            ? [
                {
                  title: say('May'),
                  cell: (key: Item) => <Permissions all={key.permissions ?? []} />,
                  isExtra: true,
                },
              ]
            : []),
          ...(props.countVerifiers === undefined
            ? []
            : [
                {
                  title: say('Verifiers'),
                  cell: ({ key_id }: Item) => props.countVerifiers?.(key_id) || '–',
                  isNumber: true,
                  isExtra: true,
                },
              ]),
          {
            title: say('Last used'),
            cell: ({ last_used_at }) =>
              last_used_at === null ? <span class="meta">{say('not seen')}</span> : formatHour(last_used_at),
          },
          {
            title: say('Created'),
            cell: ({ created_at, created_by }) => (
              <span class="two-lines">
                <span>{formatMoment(created_at)}</span>
                {created_by !== null && (
                  <span class="meta">{say('by {actor}', { actor: <Actor {...created_by} /> })}</span>
                )}
              </span>
            ),
            isExtra: true,
          },
          { title: say('Expires'), cell: ({ expires_at }) => <Until time={expires_at} /> },
        ]}
        {...(mayChange && {
          rowActions: ({ key_id, label, last4 }: Item) => (
            <Menu
              class="quiet icon-button"
              name={say('Actions for {label}', { label: label ?? `…${last4}` })}
              label="⋯"
              items={[
                { title: say('Change label'), run: () => openSheet('rename', key_id) },
                { title: say('Replace'), run: () => openSheet('replace', key_id) },
                {
                  title: say('Show its audit rows'),
                  run: () =>
                    siteId === 'all'
                      ? open(`${servicePath('audit')}?${new URLSearchParams({ target: key_id })}`)
                      : open(auditPath(siteId, key_id)),
                },
                {
                  title: say('Delete'),
                  isDanger: true,
                  run: () =>
                    siteId === 'all'
                      ? openSheet('delete', key_id)
                      : startRevokeTarget(siteId, { kind: 'api_key', id: key_id, name: label ?? last4 }),
                },
              ]}
            />
          ),
        })}
        empty={props.empty}
      />
      {mayChange && act === 'create' && <Create {...common} onCreated={onCreated} />}
      {mayChange && act === 'replace' && chosen !== undefined && (
        <Create key={on} {...common} replaced={chosen} onCreated={onCreated} />
      )}
      {mayChange && act === 'rename' && chosen !== undefined && (
        <Rename {...common} chosen={chosen} onDone={() => finish(say('The label was changed.'))} />
      )}
      {mayChange && siteId === 'all' && act === 'delete' && chosen !== undefined && (
        <DeleteOperatorKey {...common} chosen={chosen} onDone={() => finish(say('The key was deleted.'))} />
      )}
      {created !== undefined && (
        <SecretSheet
          title={say('The new key')}
          secret={created.api_key}
          onClose={() => setCreated(undefined)}
        >
          <p class="meta">
            {say('It is {keyId} in lists and in the audit log.', { keyId: <code>{created.key_id}</code> })}
          </p>
        </SecretSheet>
      )}
    </>
  )

  function onCreated(answer: { readonly api_key: string; readonly key_id: string }): void {
    closeSheet()
    setVersion((last) => last + 1)
    setCreated(answer)
  }
}

const SHOWN_MAX = 3

/** The first permissions; the rest is in the title, and in the sheet that replaces the key. */
function Permissions({ all }: { readonly all: readonly Permission[] }): JSX.Element {
  if (all.includes('site:admin') && all.length === Object.keys(permissionWords).length)
    return <span>{say('Everything at this site')}</span>
  const more = all.slice(SHOWN_MAX)
  return (
    <ul class="scopes">
      {all.slice(0, SHOWN_MAX).map((permission) => (
        <li key={permission} title={permissionWords[permission]}>
          {permission}
        </li>
      ))}
      {more.length > 0 && <li title={more.join(', ')}>+{more.length}</li>}
    </ul>
  )
}

const SOON_MS = 7 * 86_400_000

function Until({ time }: { readonly time: string | null }): JSX.Element {
  if (time === null) return <span class="meta">{say('never')}</span>
  const leftMs = Date.parse(time) - Date.now()
  if (leftMs <= 0) return <Pill tone="none">{say('Expired')}</Pill>
  return leftMs < SOON_MS ? <Pill tone="soon">{formatMoment(time)}</Pill> : <span>{formatMoment(time)}</span>
}

interface SheetProps extends KeyListProps {
  readonly onClose: () => void
}

const EXPIRIES: readonly (readonly [seconds: number, words: string])[] = [
  [0, say('until it is deleted')],
  [3600, say('one hour')],
  [86_400, say('one day')],
  [30 * 86_400, say('30 days')],
  [90 * 86_400, say('90 days')],
  [365 * 86_400, say('one year')],
]

function Create({
  siteId,
  path,
  hasPermissions = false,
  cliOptions,
  replaced,
  onCreated,
  onClose,
}: SheetProps & {
  readonly replaced?: Key
  readonly onCreated: (answer: { readonly api_key: string; readonly key_id: string }) => void
}): JSX.Element {
  const [label, setLabel] = useState(replaced?.label ?? '')
  const [may, setMay] = useState<readonly Permission[]>(replaced?.permissions ?? [])
  const [seconds, setSeconds] = useState(0)
  const name = label.trim() === '' ? undefined : label.trim()
  const expires = seconds === 0 ? undefined : seconds
  const toRequest = (reason: string | undefined): ApiRequest | undefined =>
    hasPermissions && may.length === 0
      ? undefined
      : {
          method: 'POST',
          path,
          site: siteId,
          body: {
            ...(hasPermissions && { permissions: may }),
            label: name,
            expires_in_seconds: expires,
            reason,
          },
        }
  return (
    <ActSheet<{ api_key: string; key_id: string }>
      title={replaced === undefined ? say('Create a key') : say('Replace a key')}
      siteId={siteId}
      verb={say('Create the key')}
      busyVerb={say('Creating…')}
      toRequest={toRequest}
      toCli={(reason) =>
        toCli(['keys', 'create'], {
          ...cliOptions,
          permissions: hasPermissions ? may.join(',') || undefined : undefined,
          label: name,
          'expires-in-seconds': expires,
          reason,
        })
      }
      onDone={onCreated}
      onClose={onClose}
    >
      {replaced !== undefined && (
        <ol class="walk">
          <li>{say('Create a second key that may do the same.')}</li>
          <li>{say('Give it to the program, and see here that it is used.')}</li>
          <li>{say('Delete the key that ends with {last4}.', { last4: <code>{replaced.last4}</code> })}</li>
        </ol>
      )}
      <label>
        {say('Label')} <span class="optional">{say('optional')}</span>
        <input
          data-first=""
          value={label}
          maxLength={64}
          placeholder={say('guard of the shop')}
          onInput={(event) => setLabel(event.currentTarget.value)}
        />
      </label>
      {hasPermissions && (
        <Checks legend={say('What it may do')} words={permissionWords} chosen={may} onChange={setMay} />
      )}
      <label>
        {say('Valid')}
        <select value={seconds} onChange={(event) => setSeconds(Number(event.currentTarget.value))}>
          {EXPIRIES.map(([value, words]) => (
            <option key={value} value={value}>
              {words}
            </option>
          ))}
        </select>
      </label>
    </ActSheet>
  )
}

interface ChosenProps extends SheetProps {
  readonly chosen: Key
  readonly onDone: () => void
}

function Rename({ siteId, toKeyPath, cliOptions, chosen, onDone, onClose }: ChosenProps): JSX.Element {
  const [label, setLabel] = useState(chosen.label ?? '')
  const name = label.trim() === '' ? null : label.trim()
  return (
    <ActSheet<unknown>
      title={say('Change the label')}
      siteId={siteId}
      verb={say('Change the label')}
      busyVerb={say('Changing…')}
      toRequest={(reason) =>
        name === chosen.label
          ? undefined
          : {
              method: 'PATCH',
              path: toKeyPath(chosen.key_id),
              site: siteId,
              body: { label: name, reason },
            }
      }
      toCli={(reason) =>
        toCli(['keys', 'rename', chosen.key_id, ...(name === null ? [] : [name])], { ...cliOptions, reason })
      }
      onDone={onDone}
      onClose={onClose}
    >
      <p>{say('The key that ends with {last4} stays valid.', { last4: <code>{chosen.last4}</code> })}</p>
      <label>
        {say('Label')}
        <input
          data-first=""
          value={label}
          maxLength={64}
          onInput={(event) => setLabel(event.currentTarget.value)}
        />
      </label>
    </ActSheet>
  )
}

/** The service counts what the key of a site ends, and not what an operator key does. */
function DeleteOperatorKey(props: ChosenProps): JSX.Element {
  const { siteId, toKeyPath, cliOptions, chosen, onDone, onClose } = props
  return (
    <ActSheet<unknown>
      title={say('Delete an operator key')}
      siteId={siteId}
      verb={say('Delete the key')}
      busyVerb={say('Deleting…')}
      isEnding
      typedName={chosen.label ?? chosen.last4}
      toRequest={(reason) => ({ method: 'DELETE', path: toKeyPath(chosen.key_id), site: siteId, reason })}
      toCli={(reason) => toCli(['keys', 'delete', chosen.key_id], { ...cliOptions, yes: true, reason })}
      onDone={onDone}
      onClose={onClose}
    >
      <div class="who">
        <span>
          <strong>{chosen.label ?? say('Without a label')}</strong>
          <code class="meta">…{chosen.last4}</code>
        </span>
        <span class="meta">
          {chosen.last_used_at === null
            ? say('Not seen in use')
            : say('Last used {time}', { time: formatHour(chosen.last_used_at) })}
        </span>
      </div>
      <p>{say('The key becomes invalid immediately, at every site, and this cannot be undone.')}</p>
    </ActSheet>
  )
}
