import type { Issuer } from '@countersign/core/contract'
import type { JSX } from 'preact'
import { call } from '../api/call.ts'
import { toCli } from '../api/command.ts'
import { mayAdminister, mayRevoke } from '../api/session.ts'
import { AsCommand } from '../components/as-command.tsx'
import { Command } from '../components/copy.tsx'
import { DetailHead } from '../components/detail-head.tsx'
import { Id } from '../components/id.tsx'
import { List } from '../components/list.tsx'
import { Menu, type MenuItem } from '../components/menu.tsx'
import { showNotice } from '../components/notice.ts'
import { formatSpan } from '../components/seconds-field.tsx'
import { Pill, type Tone } from '../components/state.tsx'
import { useChanging } from '../components/use-changing.ts'
import { startRevokeTarget } from '../revoke/state.ts'
import { auditPath, open, place, sitePath } from '../router.ts'
import { formatCount, say } from '../say.ts'
import { openSheet, sheet } from '../sheet-place.ts'
import type { SiteProps } from '../site-props.ts'
import { formatMoment } from '../time.ts'
import { IssuerSheets, TrustIssuer, toIssuerName } from './issuer-sheets.tsx'

type Key = Issuer['keys'][number]

const KEY_STATES: Readonly<Record<Key['status'], readonly [tone: Tone, word: string]>> = {
  active: ['good', say('Active')],
  retired: ['none', say('Retired')],
  compromised: ['bad', say('Compromised')],
}

function IssuerState({ status }: Pick<Issuer, 'status'>): JSX.Element {
  return status === 'trusted' ? (
    <Pill tone="good">{say('Trusted')}</Pill>
  ) : (
    <Pill tone="bad">{say('Distrusted')}</Pill>
  )
}

export function Issuers({ siteId }: SiteProps): JSX.Element {
  const { id } = place.value
  return id === undefined ? <IssuerList siteId={siteId} /> : <OneIssuer key={id} siteId={siteId} id={id} />
}

function IssuerList({ siteId }: SiteProps): JSX.Element {
  const mayChange = mayAdminister(siteId)
  return (
    <>
      <List<Issuer>
        title={say('Issuers and keys')}
        about={say(
          'Who may sign credentials and access tokens for this site, and what they may grant at most.',
        )}
        siteId={siteId}
        path={`/api/sites/${siteId}/issuers`}
        isLive
        toKey={({ issuer_id }) => issuer_id}
        toHref={({ issuer_id }) => sitePath(siteId, 'issuers', issuer_id)}
        toCli={() => toCli(['issuers', 'list'], { site: siteId })}
        actions={
          mayChange && (
            <button type="button" class="primary" onClick={() => openSheet('trust')}>
              {say('Trust an issuer')}
            </button>
          )
        }
        columns={[
          {
            title: say('Issuer'),
            cell: (issuer) => (
              <span class="two-lines">
                <strong>{toIssuerName(issuer)}</strong>
                <code class="meta cut" title={issuer.issuer}>
                  {issuer.issuer}
                </code>
              </span>
            ),
          },
          { title: say('Status'), cell: ({ status }) => <IssuerState status={status} /> },
          {
            title: say('Signs'),
            cell: ({ type }) => (type === 'oauth' ? say('Access tokens') : say('Credentials')),
            isExtra: true,
          },
          {
            title: say('May grant'),
            cell: ({ scope }) =>
              scope === null ? <span class="meta">{say('every scope')}</span> : scope.join(', '),
            isExtra: true,
          },
          {
            title: say('Active keys'),
            cell: ({ keys }) =>
              say('{active} of {all}', {
                active: (keys as readonly Key[]).filter(isActive).length,
                all: keys.length,
              }),
            isNumber: true,
          },
        ]}
        empty={{
          sentence: say('This site trusts no issuer, so every credential is rejected.'),
          command: toCli(['issuers', 'add', 'did:web:issuer.example'], { site: siteId }),
        }}
      />
      {mayChange && sheet.value.act === 'trust' && (
        <TrustIssuer
          siteId={siteId}
          onDone={({ issuer_id }) => {
            showNotice(say('The issuer is trusted.'))
            open(sitePath(siteId, 'issuers', issuer_id))
          }}
        />
      )}
    </>
  )
}

function isActive({ status }: Pick<Key, 'status'>): boolean {
  return status === 'active'
}

function OneIssuer({ siteId, id }: SiteProps & { readonly id: string }): JSX.Element {
  const path = `/api/sites/${siteId}/issuers/${encodeURIComponent(id)}`
  const {
    value: issuer,
    fault,
    reload,
    finish,
  } = useChanging(path, (signal) => call<Issuer>(path, { site: siteId, signal }))
  return (
    <>
      <DetailHead
        back={{ href: sitePath(siteId, 'issuers'), title: say('Issuers and keys') }}
        fault={fault}
        onRetry={reload}
        acts={
          <>
            <AsCommand
              curl={{ path }}
              cli={toCli(['issuers', 'show', issuer?.issuer ?? id], { site: siteId })}
            />
            {issuer !== undefined && <Acts siteId={siteId} issuer={issuer} />}
          </>
        }
      >
        <h1>{issuer === undefined ? <Id value={id} /> : toIssuerName(issuer)}</h1>
        {issuer !== undefined && (
          <p class="meta url">
            <code>{issuer.issuer}</code>
          </p>
        )}
      </DetailHead>
      {issuer !== undefined && (
        <>
          <Facts issuer={issuer} />
          <Keys siteId={siteId} issuer={issuer} />
          {issuer.status === 'trusted' && <Rotation siteId={siteId} issuer={issuer} />}
          <IssuerSheets siteId={siteId} issuer={issuer} finish={finish} />
        </>
      )}
    </>
  )
}

function distrust(siteId: string, issuer: Issuer): void {
  startRevokeTarget(siteId, {
    kind: 'issuer',
    issuer: issuer.issuer,
    id: issuer.issuer_id,
    name: toIssuerName(issuer),
  })
}

function Acts({ siteId, issuer }: SiteProps & { readonly issuer: Issuer }): JSX.Element {
  const mayChange = mayAdminister(siteId)
  const items: readonly MenuItem[] = [
    ...(mayChange && issuer.status === 'trusted'
      ? [{ title: say('Distrust'), isDanger: true, run: () => distrust(siteId, issuer) }]
      : []),
    ...(mayRevoke(siteId)
      ? [{ title: say('End everything signed so far'), isDanger: true, run: () => openSheet('cut-off') }]
      : []),
    { title: say('Show its audit rows'), run: () => open(auditPath(siteId, issuer.issuer)) },
  ]
  return (
    <>
      {mayChange && issuer.status === 'trusted' && (
        <button type="button" onClick={() => openSheet('change')}>
          {say('Change limits')}
        </button>
      )}
      {mayChange && issuer.status === 'distrusted' && (
        <button type="button" class="primary" onClick={() => openSheet('trust-again')}>
          {say('Trust again')}
        </button>
      )}
      <Menu class="icon-button" name={say('More actions')} label="⋯" items={items} />
    </>
  )
}

function Facts({ issuer }: { readonly issuer: Issuer }): JSX.Element {
  const ttl = issuer.type === 'oauth' ? issuer.token_ttl_seconds_max : issuer.credential_ttl_seconds_max
  return (
    <dl class="card facts">
      <div>
        <dt>{say('Status')}</dt>
        <dd>
          <IssuerState status={issuer.status} />
        </dd>
      </div>
      <div>
        <dt>{say('Signs')}</dt>
        <dd>{issuer.type === 'oauth' ? say('Access tokens') : say('Credentials')}</dd>
      </div>
      <div>
        <dt>{say('May grant')}</dt>
        <dd>{issuer.scope === null ? say('Every scope') : issuer.scope.join(', ')}</dd>
      </div>
      <div>
        <dt>{say('Longest life')}</dt>
        <dd>{ttl === null ? say('As the site allows') : formatSpan(ttl)}</dd>
      </div>
      {issuer.type === 'oauth' && (
        <>
          <div>
            <dt>{say('Audience')}</dt>
            <dd>{issuer.audience.join(', ')}</dd>
          </div>
          <div>
            <dt>{say('Clients')}</dt>
            <dd>{issuer.client_ids === null ? say('All') : issuer.client_ids.join(', ')}</dd>
          </div>
          <div>
            <dt>{say('Signals from')}</dt>
            <dd>
              {issuer.signals.length === 0
                ? say('No sender')
                : issuer.signals.map((each) => each.issuer).join(', ')}
            </dd>
          </div>
        </>
      )}
      <div>
        <dt>{say('Keys fetched')}</dt>
        <dd>
          {issuer.keys_refreshed_at === null
            ? say('Never: they are fixed')
            : formatMoment(issuer.keys_refreshed_at)}
        </dd>
      </div>
      <div>
        <dt>{say('Trusted since')}</dt>
        <dd>{formatMoment(issuer.created_at)}</dd>
      </div>
    </dl>
  )
}

function Keys({ siteId, issuer }: SiteProps & { readonly issuer: Issuer }): JSX.Element {
  const mayChange = mayAdminister(siteId)
  const end = (key: string, status: 'retired' | 'compromised') =>
    startRevokeTarget(siteId, {
      kind: 'issuer_key',
      issuer: issuer.issuer,
      id: issuer.issuer_id,
      key,
      status,
    })
  const toItems = ({ id, status }: Key): readonly MenuItem[] => [
    ...(status === 'active' ? [{ title: say('Retire'), run: () => end(id, 'retired') }] : []),
    ...(status === 'retired'
      ? [{ title: say('Reactivate'), run: () => openSheet('reactivate-key', id) }]
      : []),
    ...(status === 'compromised'
      ? []
      : [{ title: say('Mark as compromised'), isDanger: true, run: () => end(id, 'compromised') }]),
  ]
  return (
    <>
      <h2 class="over">{say('Keys')}</h2>
      <div class="card table">
        <table>
          <thead>
            <tr>
              <th scope="col">{say('Key')}</th>
              <th scope="col">{say('Status')}</th>
              <th scope="col" class="number extra">
                {say('Retired')}
              </th>
              {mayChange && (
                <th scope="col">
                  <span class="visually-hidden">{say('Actions')}</span>
                </th>
              )}
            </tr>
          </thead>
          <tbody>
            {(issuer.keys as readonly Key[]).map((key) => (
              <tr key={key.id}>
                <td>
                  <code class="cut" title={key.id}>
                    {key.id}
                  </code>
                </td>
                <td>
                  <Pill tone={KEY_STATES[key.status][0]}>{KEY_STATES[key.status][1]}</Pill>
                </td>
                <td class="number extra">
                  {key.retired_at === undefined ? '–' : formatMoment(key.retired_at)}
                </td>
                {mayChange && (
                  <td class="row-acts">
                    <Menu
                      class="quiet icon-button"
                      name={say('Actions for key {id}', { id: key.id })}
                      label="⋯"
                      items={toItems(key)}
                    />
                  </td>
                )}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  )
}

/** How the keys of this issuer are replaced without a gap: publish, use, retire. */
function Rotation({ siteId, issuer }: SiteProps & { readonly issuer: Issuer }): JSX.Element {
  const active = (issuer.keys as readonly Key[]).filter(isActive)
  const isFetched = issuer.keys_refreshed_at !== null
  const isPinned = !isFetched && issuer.issuer.startsWith('did:web:')
  if (!isFetched && !isPinned)
    return (
      <section class="card walk-card">
        <h2>{say('Replace its key')}</h2>
        <p class="meta">
          {issuer.type === 'oauth'
            ? say('The key set of this issuer is fixed. Give the service the new one with the command line.')
            : say(
                'The name of this issuer contains its key. Trust a new issuer with the new key, let the signer change over, then distrust this one.',
              )}
        </p>
      </section>
    )
  return (
    <section class="card walk-card">
      <h2>{say('Replace a key without a gap')}</h2>
      <ol class="walk">
        <li class={active.length > 1 ? 'done' : ''}>
          <strong>{say('Publish the new key.')}</strong>{' '}
          {isFetched ? (
            say('The issuer adds it to its document, and the service fetches it.')
          ) : (
            <>
              {say('Add it to the fixed keys of this issuer.')}
              {mayAdminister(siteId) && (
                <>
                  {' '}
                  <button type="button" class="link" onClick={() => openSheet('add-key')}>
                    {say('Add a key')}
                  </button>
                </>
              )}
            </>
          )}
        </li>
        <li>
          <strong>{say('Sign with the new key.')}</strong> {say('What the old key has signed stays valid.')}
        </li>
        <li>
          <strong>{say('Retire the old key.')}</strong>{' '}
          {say(
            'It may sign nothing new; what it signed before is valid until it expires. If it has leaked, mark it as compromised instead: that ends everything it signed.',
          )}
        </li>
      </ol>
      <p class="meta">
        {active.length === 1
          ? say('One key is active now.')
          : say('{count} keys are active now.', { count: formatCount(active.length) })}{' '}
        {say('The issuer of this service itself changes its keys with this command, at the store:')}
      </p>
      <Command text="countersign rotate-issuer-key" />
    </section>
  )
}
