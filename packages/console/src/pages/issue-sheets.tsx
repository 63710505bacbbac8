import type { CutOff, IssuedCredential, Offer } from '@countersign/core/contract'
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { toCli } from '../api/command.ts'
import { mayIssue, mayRevoke } from '../api/session.ts'
import { ActSheet } from '../components/act-sheet.tsx'
import { LinesField, toLines } from '../components/lines-field.tsx'
import { Menu, type MenuItem } from '../components/menu.tsx'
import { SecondsField } from '../components/seconds-field.tsx'
import { SecretSheet } from '../components/secret-sheet.tsx'
import { showCutOff } from '../revoke/cut-off-receipt.ts'
import { say } from '../say.ts'
import { closeSheet, openSheet, sheet } from '../sheet-place.ts'
import type { SiteProps } from '../site-props.ts'

const LIFETIME_SECONDS_MAX = 366 * 86_400

/** What can be done beside the list of credentials, as far as the role allows it. */
export function CredentialActs({ siteId }: SiteProps): JSX.Element {
  const { act } = sheet.value
  const items: readonly MenuItem[] = mayRevoke(siteId)
    ? [{ title: say('Revoke a stolen holder key'), isDanger: true, run: () => openSheet('revoke-holder') }]
    : []
  return (
    <>
      {mayIssue(siteId) && (
        <>
          <button type="button" onClick={() => openSheet('issue')}>
            {say('Issue a credential')}
          </button>
          <button type="button" class="primary" onClick={() => openSheet('offer')}>
            {say('Invite a user')}
          </button>
          {(act === 'issue' || act === 'offer') && (
            <Issue key={act} siteId={siteId} isOffer={act === 'offer'} />
          )}
        </>
      )}
      <Menu class="icon-button" name={say('More actions')} label="⋯" items={items} />
      {mayRevoke(siteId) && act === 'revoke-holder' && <RevokeHolder siteId={siteId} />}
    </>
  )
}

interface IssueProps extends SiteProps {
  /** A link with which a browser wallet claims the credential, bound to its own key. */
  readonly isOffer: boolean
}

function Issue({ siteId, isOffer }: IssueProps): JSX.Element {
  const [user, setUser] = useState('')
  const [scope, setScope] = useState('')
  const [seconds, setSeconds] = useState('')
  const [done, setDone] = useState<IssuedCredential | Offer>()
  const isPpid = user.trim().startsWith('did:service:')
  const who = isPpid ? { ppid: user.trim() } : { user_ref: user.trim() }
  const ttl = seconds === '' ? undefined : Number(seconds)
  if (done !== undefined)
    return (
      <SecretSheet
        title={isOffer ? say('The invitation') : say('The credential')}
        secret={'offer_url' in done ? done.offer_url : JSON.stringify(done.credential)}
        onClose={closeSheet}
      >
        {'offer_url' in done ? (
          <p>
            {say(
              'Send the link to the user. It works once, for {minutes} minutes, and the credential is bound to the browser that opens it.',
              { minutes: done.expires_in / 60 },
            )}
          </p>
        ) : (
          <p>
            {say(
              'Without a holder key, any caller that has the credential can use it. Give it to its user only.',
            )}
          </p>
        )}
        {'user_revoked' in done && (
          <p class="banner amber">
            <strong>{say('This user is revoked.')}</strong> {say('Every verifier rejects the credential.')}
          </p>
        )}
      </SecretSheet>
    )
  return (
    <ActSheet<IssuedCredential | Offer>
      title={isOffer ? say('Invite a user') : say('Issue a credential')}
      siteId={siteId}
      verb={isOffer ? say('Create the link') : say('Issue the credential')}
      busyVerb={isOffer ? say('Creating…') : say('Issuing…')}
      hasReason={false}
      toRequest={() => {
        const scopes = toLines(scope)
        if (user.trim() === '' || scopes === undefined) return undefined
        const body = { site_id: siteId, ...who, scope: scopes, ttl_seconds: ttl }
        return isOffer
          ? { method: 'POST', path: '/api/wallet/offers', site: siteId, body }
          : { method: 'POST', path: '/api/wallet/credentials', site: siteId, body }
      }}
      toCli={() =>
        toCli([isOffer ? 'offer' : 'issue'], {
          site: siteId,
          [isPpid ? 'ppid' : 'user-ref']: user.trim(),
          scope: toLines(scope),
          'ttl-seconds': ttl,
        })
      }
      onDone={setDone}
      onClose={closeSheet}
    >
      <label>
        {say('User')}
        <input
          data-first=""
          spellcheck={false}
          autocomplete="off"
          maxLength={256}
          value={user}
          onInput={(event) => setUser(event.currentTarget.value)}
        />
        <span class="hint">{say('The name that your own systems use. It is not stored.')}</span>
      </label>
      <LinesField
        label={say('What the user may do')}
        hint={say('Scopes, one in each line.')}
        example="orders:read"
        value={scope}
        onChange={setScope}
      />
      <SecondsField
        label={say('Valid for, in seconds')}
        hint={say('Empty: 30 days.')}
        max={LIFETIME_SECONDS_MAX}
        value={seconds}
        onChange={setSeconds}
      />
    </ActSheet>
  )
}

const THUMBPRINT = /^[A-Za-z0-9_-]{43}$/

function RevokeHolder({ siteId }: SiteProps): JSX.Element {
  const [text, setText] = useState('')
  const thumbprint = text.trim()
  const isComplete = THUMBPRINT.test(thumbprint)
  return (
    <ActSheet<CutOff>
      title={say('Revoke a stolen holder key')}
      siteId={siteId}
      verb={say('Revoke the key')}
      busyVerb={say('Revoking…')}
      isEnding
      {...(isComplete && { ends: { type: 'revoke_holder', thumbprint } as const })}
      toRequest={(reason) =>
        isComplete
          ? {
              method: 'POST',
              path: `/api/sites/${siteId}/revoke-holder`,
              site: siteId,
              body: { thumbprint, reason },
            }
          : undefined
      }
      toCli={(reason) => toCli(['revoke-holder', thumbprint], { site: siteId, yes: true, reason })}
      onDone={(answer, sent) => {
        closeSheet()
        showCutOff(
          siteId,
          { title: say('Holder key'), subject: say('This revocation'), done: say('Revoked') },
          answer,
          sent,
        )
      }}
      onClose={closeSheet}
    >
      <p>
        {say(
          'Everything that is bound to the key or was delegated through it ends permanently, also what this service has never seen.',
        )}
      </p>
      <label>
        {say('Thumbprint of the key')}
        <input
          data-first=""
          spellcheck={false}
          autocomplete="off"
          value={text}
          placeholder="NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs"
          onInput={(event) => setText(event.currentTarget.value)}
        />
        <span class="hint">
          {say('As RFC 7638 defines it. {code} prints it for a credential.', {
            code: <code>countersign inspect</code>,
          })}
        </span>
      </label>
    </ActSheet>
  )
}
