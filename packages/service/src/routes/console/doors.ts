import type { ConsoleDoors } from '@countersign/core/contract'
import { findSessionSecret } from '../../http/console-place.ts'
import { findPasskeyPlace } from '../../http/passkey-place.ts'
import type { Route } from '../../route.ts'

export const listDoors: Route<'list_doors'> = async (request, { identityProvider, commandLine }) => {
  const body: ConsoleDoors = {
    passkey: findPasskeyPlace(request, request.place) !== undefined,
    oidc: identityProvider === undefined ? null : { name: identityProvider.settings.name },
    has_session: findSessionSecret(request, request.place) !== undefined,
    command_line: commandLine ?? 'countersign',
  }
  return { status: 200, body }
}
