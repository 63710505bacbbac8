import { signal } from '@preact/signals'
import { type JSX, render } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { recordInput } from './api/attended.ts'
import { CallProblem } from './api/call.ts'
import { begin, isSignedIn, linkQuestion, session, sites } from './api/session.ts'
import { Fault } from './components/fault.tsx'
import { listenToKeys } from './keyboard.ts'
import { LinkQuestion, SignIn } from './pages/sign-in.tsx'
import { servicePages, sitePages } from './pages.ts'
import { followLinks, open, place, sitePath } from './router.ts'
import { say } from './say.ts'
import { Shell } from './shell/shell.tsx'
import { applyTheme } from './theme.ts'

const fault = signal<string | undefined>(undefined)

function App(): JSX.Element {
  if (linkQuestion.value !== undefined) return <LinkQuestion {...linkQuestion.value} />
  if (isSignedIn.value === undefined && fault.value === undefined) return <Beginning />
  if (isSignedIn.value !== true) return <SignIn key={fault.value} fault={fault.value} />
  return (
    <Shell>
      <Page />
    </Shell>
  )
}

/** Until it is known who is signed in. A slow answer is not an empty page. */
function Beginning(): JSX.Element {
  return (
    <main class="door beginning" aria-busy="true">
      <p class="meta" role="status">
        {say('Connecting')}
      </p>
    </main>
  )
}

function Page(): JSX.Element {
  const { siteId, page } = place.value
  if (siteId === undefined && page === 'start') return <Start />
  const key = `${siteId} ${page}`
  return siteId === undefined ? (
    <Loaded key={key} load={servicePages[page]} show={(Shown) => <Shown />} />
  ) : (
    <Loaded key={key} load={sitePages[page]} show={(Shown) => <Shown siteId={siteId} />} />
  )
}

interface LoadedProps<Part> {
  readonly load: (() => Promise<Part>) | undefined
  readonly show: (part: Part) => JSX.Element
}

/** A page whose script is loaded first. */
function Loaded<Part>({ load, show }: LoadedProps<Part>): JSX.Element {
  const [part, setPart] = useState<{ readonly is: Part } | 'loading' | 'failed'>('loading')
  useEffect(() => {
    load?.().then(
      (is) => setPart({ is }),
      () => setPart('failed'),
    )
  }, [])
  if (load === undefined)
    return (
      <>
        <h1 class="spaced">{say('There is no such page.')}</h1>
        <a class="button" href="/console">
          {say('Overview')}
        </a>
      </>
    )
  if (part === 'failed')
    return <Fault text={say('This page could not be loaded.')} onRetry={() => location.reload()} />
  return part === 'loading' ? <p aria-busy="true" /> : show(part.is)
}

/** Leads to the first site. */
function Start(): JSX.Element {
  const [first] = sites.value
  if (first !== undefined) queueMicrotask(() => open(sitePath(first.site_id, 'overview'), { replace: true }))
  if (first !== undefined) return <p />
  return (
    <p>
      {session.value?.roles.length === 0
        ? say('You have no role yet. Ask an operator for one.')
        : say('There is no site yet.')}
    </p>
  )
}

applyTheme()
followLinks()
for (const kind of ['keydown', 'pointermove', 'pointerdown', 'wheel'])
  addEventListener(kind, recordInput, { passive: true, capture: true })
listenToKeys()
begin().catch((thrown: unknown) => {
  fault.value =
    thrown instanceof CallProblem && thrown.code === 'link_invalid'
      ? say('This link was used before or has expired. Make a new one.')
      : say('The service cannot be reached.')
})
const app = document.querySelector('#app')
if (app !== null) render(<App />, app)
