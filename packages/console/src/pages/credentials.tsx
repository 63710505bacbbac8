import type { CredentialDetail, KnownCredential } from '@countersign/core/contract'
import type { JSX } from 'preact'
import { CallProblem, call } from '../api/call.ts'
import { toCli } from '../api/command.ts'
import { mayRevoke } from '../api/session.ts'
import { useLoad } from '../api/use-load.ts'
import { AsCommand } from '../components/as-command.tsx'
import { DetailHead } from '../components/detail-head.tsx'
import { Id } from '../components/id.tsx'
import { List } from '../components/list.tsx'
import { Status } from '../components/status.tsx'
import { DelegationTree, toTree } from '../evidence/delegation-tree.tsx'
import { entriesSeen } from '../live.ts'
import { RevokeRow, SelectionBar, selectionColumn, useSelection } from '../revoke/selection.tsx'
import { startRevoke } from '../revoke/state.ts'
import { place, sitePath } from '../router.ts'
import { say, sayList } from '../say.ts'
import type { SiteProps } from '../site-props.ts'
import { formatMoment } from '../time.ts'
import { CredentialActs } from './issue-sheets.tsx'

export function Credentials({ siteId }: SiteProps): JSX.Element {
  const { id } = place.value
  return id === undefined ? (
    <CredentialList siteId={siteId} />
  ) : (
    <OneCredential key={id} siteId={siteId} id={id} />
  )
}

function CredentialList({ siteId }: SiteProps): JSX.Element {
  const selection = useSelection<KnownCredential>(({ credential_id, status }) =>
    status === 'active' ? { credential_id } : undefined,
  )
  const path = `/api/sites/${siteId}/credentials`
  const isRevocable = mayRevoke(siteId)
  return (
    <>
      <List<KnownCredential>
        title={say('Credentials')}
        about={say(
          'Credentials that this service has issued or seen. Others may exist, and can be revoked too.',
        )}
        siteId={siteId}
        path={path}
        isLive
        actions={<CredentialActs siteId={siteId} />}
        onItems={selection.setItems}
        filters={[
          {
            name: 'status',
            label: say('Status'),
            values: [
              ['', say('All')],
              ['active', say('Active')],
              ['revoked', say('Revoked')],
              ['expired', say('Expired')],
            ],
          },
        ]}
        toKey={({ credential_id }) => credential_id}
        toCli={({ status }) => toCli(['credentials', 'list'], { site: siteId, status })}
        toHref={({ credential_id }) => sitePath(siteId, 'credentials', credential_id)}
        columns={[
          ...(isRevocable
            ? [selectionColumn(selection, ({ credential_id }: KnownCredential) => credential_id)]
            : []),
          { title: say('Credential'), cell: ({ credential_id }) => <Id value={credential_id} /> },
          { title: say('Status'), cell: ({ status }) => <Status status={status} /> },
          { title: say('User'), cell: ({ ppid }) => <Id value={ppid} />, isExtra: true },
          { title: say('Scope'), cell: ({ scope }) => scope.join(', '), isExtra: true, isText: true },
          { title: say('Until'), cell: ({ expires_at }) => formatMoment(expires_at), isNumber: true },
        ]}
        {...(isRevocable && {
          rowActions: ({ credential_id, status }: KnownCredential) =>
            status === 'active' ? (
              <RevokeRow siteId={siteId} target={{ kind: 'credential', id: credential_id }} />
            ) : null,
        })}
        empty={{
          sentence: say('No credential with this status is known here.'),
          command: toCli(['issue'], { site: siteId, 'user-ref': 'alice', scope: 'orders:read' }),
        }}
      />
      {isRevocable && (
        <SelectionBar
          selection={selection}
          siteId={siteId}
          noun="credentials"
          path={path}
          query={{ status: place.value.query.get('status') ?? 'active' }}
        />
      )}
    </>
  )
}

const SOURCES: Readonly<Record<CredentialDetail['source'], string>> = {
  issued: say('Issued by this service'),
  exchanged: say('Exchanged for a bearer token'),
  presented: say('Presented to this service'),
  sign_in: say('Used to sign in'),
}

interface Family {
  readonly own: CredentialDetail
  /** The credential that everything was delegated from. The same if it was not delegated. */
  readonly root: CredentialDetail
}

async function loadFamily(siteId: string, id: string, signal: AbortSignal): Promise<Family> {
  const load = (credentialId: string) =>
    call<CredentialDetail>(`/api/sites/${siteId}/credentials/${encodeURIComponent(credentialId)}`, {
      site: siteId,
      signal,
    })
  const own = await load(id)
  const rootId = own.parents.at(-1)?.credential_id
  if (rootId === undefined) return { own, root: own }
  // The service may have seen a delegated credential and not its root.
  const root = await load(rootId).catch((thrown: unknown) => {
    if (thrown instanceof CallProblem && thrown.status === 404) return own
    throw thrown
  })
  return { own, root }
}

function OneCredential({ siteId, id }: SiteProps & { readonly id: string }): JSX.Element {
  const { value, fault, reload } = useLoad(`${siteId} ${id}`, (signal) => loadFamily(siteId, id, signal), {
    again: entriesSeen.value,
  })
  const own = value?.own
  return (
    <>
      <DetailHead
        back={{ href: sitePath(siteId, 'credentials'), title: say('Credentials') }}
        fault={own === undefined ? fault : undefined}
        onRetry={reload}
        acts={
          <>
            <AsCommand
              curl={{ path: `/api/sites/${siteId}/credentials/${id}` }}
              cli={toCli(['credentials', 'show', id], { site: siteId })}
            />
            {mayRevoke(siteId) && own?.status !== 'revoked' && id.startsWith('cred_') && (
              <button type="button" class="danger" data-revoke-page onClick={() => startRevoke(siteId, id)}>
                {say('Revoke this credential')}
              </button>
            )}
          </>
        }
      >
        <h1 class="id-title">
          <Id value={id} copy />
        </h1>
      </DetailHead>
      {own !== undefined && value !== undefined && (
        <>
          <dl class="card facts">
            <Fact word={say('Status')}>
              <Status status={own.status} />
            </Fact>
            {own.revoked_at !== null && (
              <Fact word={say('Revoked')}>
                {own.revocation_type === 'user'
                  ? say('{time}, with its user', { time: formatMoment(own.revoked_at) })
                  : formatMoment(own.revoked_at)}
              </Fact>
            )}
            {own.reason !== null && (
              <Fact word={say('Reason')}>
                <bdi>{own.reason}</bdi>
              </Fact>
            )}
            <Fact word={say('User')}>
              <a href={sitePath(siteId, 'users', own.ppid)}>
                <Id value={own.ppid} />
              </a>
            </Fact>
            <Fact word={say('Scope')}>{own.scope.join(', ')}</Fact>
            <Fact word={say('Valid')}>
              {say('{from} to {to}', {
                from: formatMoment(own.valid_from),
                to: formatMoment(own.expires_at),
              })}
            </Fact>
            <Fact word={say('Holder')}>
              {own.holder_bound ? say('Bound to a key') : say('Not bound: any caller that has it can use it')}
            </Fact>
            <Fact word={say('Issuer')}>
              <Id value={own.issuer} />
            </Fact>
            <Fact word={say('Signed')}>{formatMoment(own.signed_at)}</Fact>
            <Fact word={say('First seen')}>
              {sayList([formatMoment(own.first_seen_at), SOURCES[own.source].toLowerCase()])}
            </Fact>
          </dl>
          <DelegationTree siteId={siteId} tree={toTree(value.root, own)} chosen={id} />
        </>
      )}
    </>
  )
}

function Fact({ word, children }: { readonly word: string; readonly children: unknown }): JSX.Element {
  return (
    <div>
      <dt>{word}</dt>
      <dd>{children as JSX.Element}</dd>
    </div>
  )
}
