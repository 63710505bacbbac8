import { Problem } from '../../problem.ts'
import type { Route } from '../../route.ts'

/** Only a development start has demo verifiers; elsewhere this route is not mounted. */
export const startDemoVerifier: Route<'start_demo_verifier'> = async ({ signedIn }, { demoVerifiers }) => {
  if (demoVerifiers === undefined) throw new Problem('not_found')
  if (!signedIn?.person.roles.some(({ role }) => role === 'operator'))
    throw new Problem('role_insufficient', 'Only operators start demo verifiers.')
  const { verifierId, url } = await demoVerifiers.start()
  return { status: 201, body: { verifier_id: verifierId, url } }
}
