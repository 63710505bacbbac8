import type { ApiKey } from '@countersign/core/contract'
import type { JSX } from 'preact'
import { toCli } from '../api/command.ts'
import { mayAdminister } from '../api/session.ts'
import { verifiers } from '../live.ts'
import { say } from '../say.ts'
import type { SiteProps } from '../site-props.ts'
import { KeyList } from './key-list.tsx'

/** The API keys of a site. */
export function ApiKeys({ siteId }: SiteProps): JSX.Element {
  const countVerifiers = (key: string) =>
    verifiers.value?.filter(({ key_id, state }) => key_id === key && state === 'connected').length ?? 0
  return (
    <KeyList<ApiKey>
      title={say('API keys')}
      about={say('Keys are for programs. People sign in as themselves.')}
      siteId={siteId}
      path={`/api/sites/${siteId}/keys`}
      toKeyPath={(keyId) => `/api/sites/${siteId}/keys/${keyId}`}
      hasPermissions
      mayChange={mayAdminister(siteId)}
      cliOptions={{ site: siteId }}
      countVerifiers={countVerifiers}
      empty={{
        sentence: say('This site has no API key.'),
        command: toCli(['keys', 'create'], { site: siteId, permissions: 'site:read' }),
      }}
    />
  )
}
