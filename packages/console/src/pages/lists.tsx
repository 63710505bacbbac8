import type {
  ApiKey,
  AuditRow,
  IssuedToken,
  KnownCredential,
  Verifier,
  Webhook,
} from '@countersign/core/contract'
import type { JSX } from 'preact'
import { Id } from '../components/id.tsx'
import { List } from '../components/list.tsx'
import { Pill, type Tone } from '../components/state.tsx'
import { sitePath } from '../router.ts'
import { formatMoment } from '../time.ts'
import { showVerifier } from './verifier-states.ts'

interface SiteProps {
  readonly siteId: string
}

const TONES: Readonly<Record<string, Tone>> = { active: 'good', revoked: 'bad', expired: 'none' }

function Status({ status }: { readonly status: string }): JSX.Element {
  return <Pill tone={TONES[status] ?? 'none'}>{status[0]?.toUpperCase() + status.slice(1)}</Pill>
}

export function Credentials({ siteId }: SiteProps): JSX.Element {
  return (
    <List<KnownCredential>
      title="Credentials"
      about="Credentials that this service has issued or seen. Others may exist, and can be revoked too."
      siteId={siteId}
      path={`/api/sites/${siteId}/credentials`}
      isLive
      filters={[
        {
          name: 'status',
          label: 'Status',
          values: [
            ['', 'All'],
            ['active', 'Active'],
            ['revoked', 'Revoked'],
            ['expired', 'Expired'],
          ],
        },
      ]}
      toKey={({ credential_id }) => credential_id}
      toHref={({ credential_id }) => sitePath(siteId, 'credentials', credential_id)}
      columns={[
        { title: 'Credential', cell: ({ credential_id }) => <Id value={credential_id} /> },
        { title: 'Status', cell: ({ status }) => <Status status={status} /> },
        { title: 'User', cell: ({ ppid }) => <Id value={ppid} />, isExtra: true },
        { title: 'Scope', cell: ({ scope }) => scope.join(', '), isExtra: true },
        { title: 'Until', cell: ({ expires_at }) => formatMoment(expires_at), isNumber: true },
      ]}
      empty={{
        sentence: 'No credential with this status is known here.',
        command: `countersign issue --site ${siteId}`,
      }}
    />
  )
}

export function Tokens({ siteId }: SiteProps): JSX.Element {
  return (
    <List<IssuedToken>
      title="Tokens"
      about="Short-lived bearer tokens that were exchanged for a credential."
      siteId={siteId}
      path={`/api/sites/${siteId}/tokens`}
      isLive
      toKey={({ token_id }) => token_id}
      columns={[
        { title: 'Token', cell: ({ token_id }) => <Id value={token_id} copy /> },
        { title: 'Status', cell: ({ status }) => <Status status={status} /> },
        { title: 'User', cell: ({ ppid }) => <Id value={ppid} />, isExtra: true },
        { title: 'Issued', cell: ({ issued_at }) => formatMoment(issued_at), isNumber: true, isExtra: true },
        { title: 'Until', cell: ({ expires_at }) => formatMoment(expires_at), isNumber: true },
      ]}
      empty={{
        sentence: 'No bearer token is alive.',
        command: 'countersign exchange --credential credential.json',
      }}
    />
  )
}

export function Verifiers({ siteId }: SiteProps): JSX.Element {
  return (
    <List<Verifier>
      title="Verifiers"
      about="Guards that decide about requests to this site."
      siteId={siteId}
      path={`/api/sites/${siteId}/verifiers`}
      isLive
      toKey={({ verifier_id, instance_id }) => `${verifier_id} ${instance_id}`}
      columns={[
        { title: 'Verifier', cell: ({ verifier_id }) => <strong>{verifier_id}</strong> },
        {
          title: 'State',
          cell: (each) => <Pill tone={showVerifier(each).tone}>{showVerifier(each).word}</Pill>,
        },
        { title: 'Applied', cell: ({ seq }) => seq.toLocaleString('en'), isNumber: true },
        {
          title: 'Bound',
          cell: ({ max_staleness_seconds }) =>
            max_staleness_seconds === null ? '–' : `${max_staleness_seconds} s`,
          isNumber: true,
          isExtra: true,
        },
        {
          title: 'Last answer',
          cell: ({ acknowledged_at }) => (acknowledged_at === null ? '–' : formatMoment(acknowledged_at)),
          isNumber: true,
          isExtra: true,
        },
      ]}
      empty={{ sentence: 'No verifier follows this site yet.', command: 'npm start -- --with-demo-app' }}
    />
  )
}

export function ApiKeys({ siteId }: SiteProps): JSX.Element {
  return (
    <List<ApiKey>
      title="API keys"
      siteId={siteId}
      path={`/api/sites/${siteId}/keys`}
      toKey={({ key_id }) => key_id}
      columns={[
        {
          title: 'Key',
          cell: ({ label, last4 }) => (
            <span>
              {label ?? 'Without a label'} <span class="meta">…{last4}</span>
            </span>
          ),
        },
        { title: 'May', cell: ({ permissions }) => permissions.join(', '), isExtra: true },
        { title: 'Created', cell: ({ created_at }) => formatMoment(created_at), isNumber: true },
        {
          title: 'Until',
          cell: ({ expires_at }) => (expires_at === null ? 'deleted' : formatMoment(expires_at)),
          isNumber: true,
          isExtra: true,
        },
      ]}
      empty={{
        sentence: 'This site has no API key.',
        command: `countersign keys create --site ${siteId} --permission site:read`,
      }}
    />
  )
}

export function Webhooks({ siteId }: SiteProps): JSX.Element {
  return (
    <List<Webhook>
      title="Webhooks"
      siteId={siteId}
      path={`/api/sites/${siteId}/webhooks`}
      toKey={({ webhook_id }) => webhook_id}
      columns={[
        { title: 'URL', cell: ({ url }) => url },
        {
          title: 'Status',
          cell: ({ status }) => <Pill tone={status === 'on' ? 'good' : 'gone'}>{status}</Pill>,
        },
        {
          title: 'Created',
          cell: ({ created_at }) => formatMoment(created_at),
          isNumber: true,
          isExtra: true,
        },
      ]}
      empty={{
        sentence: 'No webhook is told about this site.',
        command: `countersign webhooks create https://hooks.example/countersign --site ${siteId}`,
      }}
    />
  )
}

export function Audit({ siteId }: SiteProps): JSX.Element {
  return (
    <List<AuditRow>
      title="Audit"
      about="Who changed what, and why. Rows cannot be deleted here."
      siteId={siteId}
      path={`/api/sites/${siteId}/audit`}
      toKey={({ audit_id }) => audit_id}
      columns={[
        { title: 'Time', cell: ({ at }) => formatMoment(at), isNumber: true },
        { title: 'Action', cell: ({ action }) => <code>{action}</code> },
        { title: 'Target', cell: ({ target }) => (target === null ? '–' : <Id value={target} />) },
        { title: 'By', cell: ({ actor }) => actor.id ?? actor.type, isExtra: true },
        { title: 'Reason', cell: ({ reason }) => reason ?? '–', isExtra: true },
      ]}
      empty={{ sentence: 'Nothing has been changed yet.', command: `countersign audit --site ${siteId}` }}
    />
  )
}
