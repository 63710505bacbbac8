import type { ApiKey, OperatorKey, Permission } from '@countersign/core/contract'
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { ApiRequest } from '../api/call.ts'
import { toCli } from '../api/command.ts'
import { ActSheet } from '../components/act-sheet.tsx'
import { Actor } from '../components/actor.tsx'
import { useAfterRevoke } from '../components/after-revoke.ts'
import { Checks } from '../components/checks.tsx'
import { notice } from '../components/copy.tsx'
import { List } from '../components/list.tsx'
import { Menu } from '../components/menu.tsx'
import { SecretSheet } from '../components/secret-sheet.tsx'
import { Pill } from '../components/state.tsx'
import { startRevokeTarget } from '../revoke/state.ts'
import { auditPath, open, servicePath } from '../router.ts'
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
    notice.value = words
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
              Create a key
            </button>
          )
        }
        columns={[
          {
            title: 'Key',
            cell: ({ label, last4 }) => (
              <span class="two-lines">
                <strong>{label ?? 'Without a label'}</strong>
                <code class="meta">…{last4}</code>
              </span>
            ),
          },
          ...(hasPermissions
            ? [
                {
                  title: 'May',
                  cell: (key: Item) => <Permissions all={key.permissions ?? []} />,
                  isExtra: true,
                },
              ]
            : []),
          ...(props.countVerifiers === undefined
            ? []
            : [
                {
                  title: 'Verifiers',
                  cell: ({ key_id }: Item) => props.countVerifiers?.(key_id) || '–',
                  isNumber: true,
                  isExtra: true,
                },
              ]),
          {
            title: 'Last used',
            cell: ({ last_used_at }) =>
              last_used_at === null ? <span class="meta">not seen</span> : formatHour(last_used_at),
          },
          {
            title: 'Created',
            cell: ({ created_at, created_by }) => (
              <span class="two-lines">
                <span>{formatMoment(created_at)}</span>
                {created_by !== null && (
                  <span class="meta">
                    by <Actor {...created_by} />
                  </span>
                )}
              </span>
            ),
            isExtra: true,
          },
          { title: 'Expires', cell: ({ expires_at }) => <Until time={expires_at} /> },
        ]}
        {...(mayChange && {
          rowActions: ({ key_id, label, last4 }: Item) => (
            <Menu
              class="quiet icon-button"
              name={`Actions for ${label ?? `…${last4}`}`}
              label="⋯"
              items={[
                { title: 'Change label', run: () => openSheet('rename', key_id) },
                { title: 'Replace', run: () => openSheet('replace', key_id) },
                {
                  title: 'Show its audit rows',
                  run: () =>
                    siteId === 'all'
                      ? open(`${servicePath('audit')}?${new URLSearchParams({ target: key_id })}`)
                      : open(auditPath(siteId, key_id)),
                },
                {
                  title: 'Delete',
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
        <Rename {...common} chosen={chosen} onDone={() => finish('The label was changed.')} />
      )}
      {mayChange && siteId === 'all' && act === 'delete' && chosen !== undefined && (
        <DeleteOperatorKey {...common} chosen={chosen} onDone={() => finish('The key was deleted.')} />
      )}
      {created !== undefined && (
        <SecretSheet title="The new key" secret={created.api_key} onClose={() => setCreated(undefined)}>
          <p class="meta">
            It is <code>{created.key_id}</code> in lists and in the audit log.
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
    return <span>Everything at this site</span>
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
  if (time === null) return <span class="meta">never</span>
  const leftMs = Date.parse(time) - Date.now()
  if (leftMs <= 0) return <Pill tone="none">Expired</Pill>
  return leftMs < SOON_MS ? <Pill tone="soon">{formatMoment(time)}</Pill> : <span>{formatMoment(time)}</span>
}

interface SheetProps extends KeyListProps {
  readonly onClose: () => void
}

const EXPIRIES: readonly (readonly [seconds: number, words: string])[] = [
  [0, 'until it is deleted'],
  [3600, 'one hour'],
  [86_400, 'one day'],
  [30 * 86_400, '30 days'],
  [90 * 86_400, '90 days'],
  [365 * 86_400, 'one year'],
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
      title={replaced === undefined ? 'Create a key' : 'Replace a key'}
      siteId={siteId}
      verb="Create the key"
      busyVerb="Creating…"
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
          <li>Create a second key that may do the same.</li>
          <li>Give it to the program, and see here that it is used.</li>
          <li>
            Delete the key that ends with <code>{replaced.last4}</code>.
          </li>
        </ol>
      )}
      <label>
        Label <span class="optional">optional</span>
        <input
          data-first=""
          value={label}
          maxLength={64}
          placeholder="guard of the shop"
          onInput={(event) => setLabel(event.currentTarget.value)}
        />
      </label>
      {hasPermissions && (
        <Checks legend="What it may do" words={permissionWords} chosen={may} onChange={setMay} />
      )}
      <label>
        Valid
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
      title="Change the label"
      siteId={siteId}
      verb="Change the label"
      busyVerb="Changing…"
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
      <p>
        The key that ends with <code>{chosen.last4}</code> stays valid.
      </p>
      <label>
        Label
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
      title="Delete an operator key"
      siteId={siteId}
      verb="Delete the key"
      busyVerb="Deleting…"
      isEnding
      typedName={chosen.label ?? chosen.last4}
      toRequest={(reason) => ({ method: 'DELETE', path: toKeyPath(chosen.key_id), site: siteId, reason })}
      toCli={(reason) => toCli(['keys', 'delete', chosen.key_id], { ...cliOptions, yes: true, reason })}
      onDone={onDone}
      onClose={onClose}
    >
      <div class="who">
        <span>
          <strong>{chosen.label ?? 'Without a label'}</strong>
          <code class="meta">…{chosen.last4}</code>
        </span>
        <span class="meta">
          {chosen.last_used_at === null ? 'Not seen in use' : `Last used ${formatHour(chosen.last_used_at)}`}
        </span>
      </div>
      <p>The key becomes invalid immediately, at every site, and this cannot be undone.</p>
    </ActSheet>
  )
}
