import type { IssuedToken } from '@countersign/core/contract'
import type { JSX } from 'preact'
import { toCli } from '../api/command.ts'
import { mayRevoke } from '../api/session.ts'
import { Id } from '../components/id.tsx'
import { List } from '../components/list.tsx'
import { Status } from '../components/status.tsx'
import { BearerMeter } from '../evidence/bearer-meter.tsx'
import { RevokeRow } from '../revoke/selection.tsx'
import { sitePath } from '../router.ts'
import { say } from '../say.ts'
import type { SiteProps } from '../site-props.ts'
import { formatMoment } from '../time.ts'

export function Tokens({ siteId }: SiteProps): JSX.Element {
  return (
    <List<IssuedToken>
      title={say('Tokens')}
      about={say('Short-lived bearer tokens that were exchanged for a credential.')}
      siteId={siteId}
      path={`/api/sites/${siteId}/tokens`}
      isLive
      toKey={({ token_id }) => token_id}
      toCli={() => toCli(['tokens', 'list'], { site: siteId })}
      columns={[
        { title: say('Token'), cell: ({ token_id }) => <Id value={token_id} copy /> },
        { title: say('Status'), cell: ({ status }) => <Status status={status} /> },
        {
          title: say('User'),
          cell: ({ ppid }) => (
            <a href={sitePath(siteId, 'users', ppid)}>
              <Id value={ppid} />
            </a>
          ),
          isExtra: true,
        },
        {
          title: say('From'),
          cell: ({ credential_id }) => (
            <a href={sitePath(siteId, 'credentials', credential_id)}>
              <Id value={credential_id} />
            </a>
          ),
          isExtra: true,
        },
        { title: say('Until'), cell: ({ expires_at }) => formatMoment(expires_at), isNumber: true },
      ]}
      {...(mayRevoke(siteId) && {
        rowActions: ({ token_id, status }: IssuedToken) =>
          status === 'active' ? <RevokeRow siteId={siteId} target={{ kind: 'token', id: token_id }} /> : null,
      })}
      empty={{
        sentence: say('No bearer token is known.'),
        command: 'countersign exchange --credential credential.json',
      }}
    >
      <BearerMeter siteId={siteId} />
    </List>
  )
}
