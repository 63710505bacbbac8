import type { OperatorKey } from '@countersign/core/contract'
import type { JSX } from 'preact'
import { isOperator } from '../api/session.ts'
import { say } from '../say.ts'
import { KeyList } from './key-list.tsx'

/** The keys that may do everything at every site. */
export function OperatorKeys(): JSX.Element {
  return (
    <KeyList<OperatorKey>
      title={say('Operator keys')}
      about={say(
        'An operator key may do everything at every site. Give programs a key of their site instead.',
      )}
      siteId="all"
      path="/api/service/operator-keys"
      toKeyPath={(keyId) => `/api/service/operator-keys/${keyId}`}
      mayChange={isOperator.value}
      cliOptions={{ operator: true }}
      empty={{
        sentence: say('There is no operator key.'),
        command: 'countersign create-operator-key',
      }}
    />
  )
}
