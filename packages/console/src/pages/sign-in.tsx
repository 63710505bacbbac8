import type { JSX } from 'preact'
import { Command } from '../components/copy.tsx'
import { Seal } from '../components/icon.tsx'

export function SignIn({ fault }: { readonly fault: string | undefined }): JSX.Element {
  return (
    <main class="door">
      <div class="card">
        <Seal isProven size={48} />
        <h1>Sign in to the console</h1>
        {fault !== undefined && (
          <p class="fault" role="alert">
            {fault}
          </p>
        )}
        <p>Make a sign-in link with an operator key. It works once, within a minute.</p>
        <Command text="countersign console" />
      </div>
    </main>
  )
}
