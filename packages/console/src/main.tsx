import { signal } from '@preact/signals'
import { type JSX, render } from 'preact'
import { CallProblem } from './api/call.ts'
import { begin, isSignedIn, sites } from './api/session.ts'
import { listenToKeys } from './keyboard.ts'
import { Drills } from './pages/drills.tsx'
import { ApiKeys, Audit, Credentials, Tokens, Verifiers, Webhooks } from './pages/lists.tsx'
import { Log } from './pages/log.tsx'
import { Overview } from './pages/overview.tsx'
import { Receipts } from './pages/receipts.tsx'
import { SignIn } from './pages/sign-in.tsx'
import { Users } from './pages/users.tsx'
import { followLinks, open, place, sitePath } from './router.ts'
import { Shell } from './shell/shell.tsx'

const fault = signal<string | undefined>(undefined)

function App(): JSX.Element | null {
  if (isSignedIn.value === undefined && fault.value === undefined) return null
  if (isSignedIn.value !== true) return <SignIn fault={fault.value} />
  return (
    <Shell>
      <Page />
    </Shell>
  )
}

function Page(): JSX.Element {
  const { siteId, page } = place.value
  if (siteId === undefined) return <Start />
  const Shown = PAGES[page]
  return Shown === undefined ? (
    <p>There is no such page.</p>
  ) : (
    <Shown key={`${siteId} ${page}`} siteId={siteId} />
  )
}

const PAGES: Readonly<Record<string, (props: { readonly siteId: string }) => JSX.Element>> = {
  overview: Overview,
  users: Users,
  credentials: Credentials,
  tokens: Tokens,
  verifiers: Verifiers,
  receipts: Receipts,
  drills: Drills,
  keys: ApiKeys,
  webhooks: Webhooks,
  audit: Audit,
  log: Log,
}

/** Leads to the first site. */
function Start(): JSX.Element {
  const [first] = sites.value
  if (first !== undefined) queueMicrotask(() => open(sitePath(first.site_id, 'overview'), { replace: true }))
  return first === undefined ? <p>There is no site yet.</p> : <p />
}

followLinks()
listenToKeys()
begin().catch((thrown: unknown) => {
  fault.value =
    thrown instanceof CallProblem && thrown.code === 'link_invalid'
      ? 'This link was used before or has expired. Make a new one.'
      : 'The service cannot be reached.'
})
const app = document.querySelector('#app')
if (app !== null) render(<App />, app)
