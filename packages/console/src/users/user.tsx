import type {
  AuditRow,
  CredentialDetail,
  IssuedToken,
  KnownCredential,
  UserDetail,
} from '@countersign/core/contract'
import type { ComponentChildren, JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { call } from '../api/call.ts'
import { toCli } from '../api/command.ts'
import { mayReinstate, mayRevoke } from '../api/session.ts'
import { Actor } from '../components/actor.tsx'
import { AsCommand } from '../components/as-command.tsx'
import { Fault } from '../components/fault.tsx'
import { Id, shorten } from '../components/id.tsx'
import { Monogram } from '../components/monogram.tsx'
import { Pill, StateMark } from '../components/state.tsx'
import { Status } from '../components/status.tsx'
import { DelegationTree, toTree } from '../evidence/delegation-tree.tsx'
import { hasReceipt } from '../evidence/words.ts'
import { toTooltip } from '../keyboard.ts'
import { entriesSeen, serviceNowMs } from '../live.ts'
import { RevokeRow } from '../revoke/selection.tsx'
import { describe, startRevokeTarget, typedName } from '../revoke/state.ts'
import { auditPath, sitePath } from '../router.ts'
import { say } from '../say.ts'
import type { SiteProps } from '../site-props.ts'
import { formatClock, formatDay, formatDuration, formatMoment, isSameDay } from '../time.ts'
import { ReinstateSheet } from './reinstate.tsx'
import { UserActs } from './user-acts.tsx'
import { ENTRY_WORDS } from './words.ts'

interface UserProps extends SiteProps {
  readonly ppid: string
}

interface Loaded {
  readonly user: UserDetail
  readonly credentials: readonly KnownCredential[]
  readonly tokens: readonly IssuedToken[]
  readonly audit: readonly AuditRow[]
}

const LISTED = 50

/** One user: the state and why, credentials, tokens, and what happened. */
export function User({ siteId, ppid }: UserProps): JSX.Element {
  const [loaded, setLoaded] = useState<Loaded>()
  const [fault, setFault] = useState<string>()
  const [tries, setTries] = useState(0)
  const [isReinstating, setReinstating] = useState(false)
  const seen = entriesSeen.value
  useEffect(() => {
    const stop = new AbortController()
    loadUser(siteId, ppid, stop.signal).then(
      (found) => {
        setLoaded(found)
        setFault(undefined)
      },
      (thrown) => {
        if (!stop.signal.aborted) setFault(describe(thrown))
      },
    )
    return () => stop.abort()
  }, [siteId, ppid, seen, tries])
  const name = typedName(ppid)
  const user = loaded?.user
  const isRevoked = user?.status === 'revoked'
  return (
    <>
      <p class="meta">
        <a href={sitePath(siteId, 'users')}>{say('Users')}</a>
      </p>
      <div class="user-head">
        <Monogram name={name ?? shorten(ppid).slice(5)} />
        <span class="named">
          <h1>{name ?? shorten(ppid)}</h1>
          <Id value={ppid} copy />
        </span>
        <div class="acts">
          <AsCommand
            curl={{ path: `/api/sites/${siteId}/users/${encodeURIComponent(ppid)}` }}
            cli={toCli(['users', 'show', ppid], { site: siteId })}
          />
          {isRevoked && mayReinstate(siteId) && (
            <button type="button" onClick={() => setReinstating(true)}>
              {say('Reinstate')}
            </button>
          )}
          {user !== undefined && !isRevoked && mayRevoke(siteId) && (
            <button
              type="button"
              class="danger-fill"
              data-revoke-page
              title={toTooltip('revoke')}
              onClick={() => startRevokeTarget(siteId, { kind: 'user', id: ppid, name })}
            >
              {say('Revoke access')} <kbd>r</kbd>
            </button>
          )}
          {user !== undefined && <UserActs siteId={siteId} ppid={ppid} name={name} />}
        </div>
      </div>
      <Fault text={fault} onRetry={() => setTries((last) => last + 1)} />
      {loaded !== undefined && <Facts loaded={loaded} name={name} />}
      {loaded !== undefined && (
        <div class="user-columns">
          <div>
            <Delegation siteId={siteId} credentials={loaded.credentials} />
            <Credentials siteId={siteId} loaded={loaded} />
            <Tokens siteId={siteId} tokens={loaded.tokens} />
          </div>
          <History siteId={siteId} loaded={loaded} />
        </div>
      )}
      {isReinstating && (
        <ReinstateSheet siteId={siteId} ppid={ppid} name={name} onClose={() => setReinstating(false)} />
      )}
    </>
  )
}

async function loadUser(siteId: string, ppid: string, signal: AbortSignal): Promise<Loaded> {
  const load = <T,>(path: string, query = {}) =>
    call<T>(`/api/sites/${siteId}/${path}`, { site: siteId, query, signal })
  const [user, credentials, tokens, audit] = await Promise.all([
    load<UserDetail>(`users/${encodeURIComponent(ppid)}`),
    load<{ items: readonly KnownCredential[] }>('credentials', { ppid, limit: LISTED }),
    load<{ items: readonly IssuedToken[] }>('tokens', { ppid, limit: LISTED }),
    load<{ items: readonly AuditRow[] }>('audit', { target: ppid, limit: LISTED }),
  ])
  return { user, credentials: credentials.items, tokens: tokens.items, audit: audit.items }
}

interface FactsProps {
  readonly loaded: Loaded
  readonly name: string | undefined
}

function Facts({ loaded: { user }, name }: FactsProps): JSX.Element {
  const bounded = ({ count, complete }: UserDetail['tokens']) =>
    complete ? String(count) : say('more than {count}', { count })
  return (
    <dl class="facts-row">
      <Fact title={say('Status')}>
        {user.status === 'revoked' ? (
          <Pill tone="bad">
            {user.revoked_at === null
              ? say('Revoked')
              : say('Revoked since {time}', { time: formatMoment(user.revoked_at) })}
          </Pill>
        ) : (
          <Pill tone="good">{say('Active')}</Pill>
        )}
      </Fact>
      {user.reason !== null && (
        <Fact title={say('Why')}>
          <bdi>{user.reason}</bdi>
        </Fact>
      )}
      <Fact title={say('Active credentials')}>{bounded(user.credentials)}</Fact>
      <Fact title={say('Live tokens')}>{bounded(user.tokens)}</Fact>
      {name !== undefined && (
        <Fact title={say('Name')} isPlain>
          {say('From your search, not stored')}
        </Fact>
      )}
    </dl>
  )
}

interface FactProps {
  readonly title: string
  readonly isPlain?: boolean
  readonly children: ComponentChildren
}

function Fact({ title, isPlain = false, children }: FactProps): JSX.Element {
  return (
    <div>
      <dt>{title}</dt>
      <dd class={isPlain ? 'plain' : ''}>{children}</dd>
    </div>
  )
}

const DRAWN_MAX = 12

/** The trees of the credentials from which others were delegated. */
function Delegation({
  siteId,
  credentials,
}: SiteProps & { readonly credentials: readonly KnownCredential[] }): JSX.Element {
  const [roots, setRoots] = useState<readonly CredentialDetail[]>([])
  const active = credentials.filter(({ status }) => status === 'active').slice(0, DRAWN_MAX)
  const key = active.map(({ credential_id }) => credential_id).join(' ')
  useEffect(() => {
    const stop = new AbortController()
    const load = ({ credential_id }: KnownCredential) =>
      call<CredentialDetail>(`/api/sites/${siteId}/credentials/${encodeURIComponent(credential_id)}`, {
        site: siteId,
        signal: stop.signal,
      }).catch(() => undefined)
    Promise.all(active.map(load)).then((found) => {
      if (!stop.signal.aborted)
        setRoots(
          found.filter(
            (each) => each !== undefined && each.parents.length === 0 && each.descendants.length > 0,
          ) as CredentialDetail[],
        )
    })
    return () => stop.abort()
  }, [siteId, key])
  return (
    <>
      {roots.map((root) => (
        <DelegationTree
          key={root.credential_id}
          siteId={siteId}
          tree={toTree(root, root)}
          chosen={root.credential_id}
        />
      ))}
    </>
  )
}

function Credentials({ siteId, loaded }: SiteProps & { readonly loaded: Loaded }): JSX.Element {
  const { credentials } = loaded
  const active = credentials.filter(({ status }) => status === 'active').length
  return (
    <section class="card part">
      <header>
        <h2>{say('Credentials')}</h2>
        <span class="meta">
          {credentials.length === LISTED
            ? say('{active} active, {past} past of the newest', { active, past: credentials.length - active })
            : say('{active} active, {past} past', { active, past: credentials.length - active })}
        </span>
      </header>
      {credentials.length === 0 ? (
        <p class="inside meta">{say('This service has seen no credential of the user.')}</p>
      ) : (
        <table class="list">
          <thead>
            <tr>
              <th scope="col">{say('Credential')}</th>
              <th scope="col" class="extra">
                {say('Kind')}
              </th>
              <th scope="col" class="extra">
                {say('Scope')}
              </th>
              <th scope="col">{say('Status')}</th>
              <th scope="col" class="number">
                {say('Expires')}
              </th>
              {mayRevoke(siteId) && <Actions />}
            </tr>
          </thead>
          <tbody>
            {credentials.map((each) => (
              <tr key={each.credential_id}>
                <td class="main">
                  <a href={sitePath(siteId, 'credentials', each.credential_id)}>
                    <Id value={each.credential_id} />
                  </a>
                </td>
                <td class="extra meta">{each.holder_bound ? say('Bound to a key') : say('Not bound')}</td>
                <td class="extra meta">{each.scope.join(', ')}</td>
                <td data-title={say('Status')}>
                  <Status status={each.status} />
                </td>
                <td class="number meta" data-title={say('Expires')}>
                  {formatMoment(each.expires_at)}
                </td>
                {mayRevoke(siteId) && (
                  <td class="row-acts">
                    {each.status === 'active' && (
                      <RevokeRow siteId={siteId} target={{ kind: 'credential', id: each.credential_id }} />
                    )}
                  </td>
                )}
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  )
}

function Actions(): JSX.Element {
  return (
    <th scope="col">
      <span class="visually-hidden">{say('Actions')}</span>
    </th>
  )
}

function Tokens({ siteId, tokens }: SiteProps & { readonly tokens: readonly IssuedToken[] }): JSX.Element {
  const live = tokens.filter(({ status }) => status === 'active')
  return (
    <section class="card part">
      <header>
        <h2>{say('Tokens')}</h2>
        <span class="meta">{say('{count} live', { count: live.length })}</span>
      </header>
      {live.length === 0 ? (
        <p class="inside meta">{say('The user has no live bearer token.')}</p>
      ) : (
        <table class="list">
          <thead>
            <tr>
              <th scope="col">{say('Token')}</th>
              <th scope="col" class="extra">
                {say('From')}
              </th>
              <th scope="col" class="extra">
                {say('Scope')}
              </th>
              <th scope="col" class="number">
                {say('Expires')}
              </th>
              {mayRevoke(siteId) && <Actions />}
            </tr>
          </thead>
          <tbody>
            {live.map((each) => (
              <tr key={each.token_id}>
                <td class="main">
                  <Id value={each.token_id} />
                </td>
                <td class="extra">
                  <a href={sitePath(siteId, 'credentials', each.credential_id)}>
                    <Id value={each.credential_id} />
                  </a>
                </td>
                <td class="extra meta">{each.scope.join(', ')}</td>
                <td class="number meta" data-title={say('Expires')}>
                  {say('in {duration}', {
                    duration: formatDuration(Math.max(0, Date.parse(each.expires_at) - serviceNowMs())),
                  })}
                </td>
                {mayRevoke(siteId) && (
                  <td class="row-acts">
                    <RevokeRow siteId={siteId} target={{ kind: 'token', id: each.token_id }} />
                  </td>
                )}
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  )
}

/** What the log says of the user, with who did it and why. */
function History({ siteId, loaded }: SiteProps & { readonly loaded: Loaded }): JSX.Element {
  const { user, audit } = loaded
  let lastDay = ''
  return (
    <section class="card part">
      <header>
        <h2>{say('Timeline')}</h2>
        <a href={auditPath(siteId, user.ppid)}>{say('Audit')}</a>
      </header>
      {user.history.length === 0 ? (
        <p class="inside meta">{say('No entry of the log names this user.')}</p>
      ) : (
        <ol class="history">
          {user.history.flatMap(({ seq, kind, at, reason }) => {
            const day = toDay(at)
            const heading =
              day === lastDay
                ? []
                : [
                    <li class="day" key={`day ${seq}`}>
                      {day}
                    </li>,
                  ]
            lastDay = day
            const row = audit.find((each) => each.seq === seq)
            return [
              ...heading,
              <li key={seq}>
                <StateMark
                  tone={kind === 'user.revoked' ? 'bad' : kind === 'user.reinstated' ? 'good' : 'none'}
                  size={14}
                />
                <div>
                  <strong>{ENTRY_WORDS[kind]}</strong>
                  <p>
                    {formatClock(at)}
                    {say(', ')}
                    <a href={sitePath(siteId, hasReceipt(kind) ? 'receipts' : 'log', String(seq))}>
                      {say('entry {seq}', { seq })}
                    </a>
                    {row !== undefined && (
                      <>
                        {say(', ')}
                        {say('by {actor}', { actor: <Actor {...row.actor} /> })}
                      </>
                    )}
                  </p>
                  {reason !== null && (
                    <p>
                      “<bdi>{reason}</bdi>”
                    </p>
                  )}
                </div>
              </li>,
            ]
          })}
        </ol>
      )}
      {!user.history_complete && <p class="inside meta">{say('There are older entries.')}</p>}
    </section>
  )
}

function toDay(at: string): string {
  const nowMs = serviceNowMs()
  if (isSameDay(at, nowMs)) return say('Today')
  return isSameDay(at, nowMs - 86_400_000) ? say('Yesterday') : formatDay(at)
}
