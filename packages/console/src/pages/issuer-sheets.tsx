import type { ChangedIssuer, CutOff as CutOffAnswer, Issuer } from '@countersign/core/contract'
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { toCli } from '../api/command.ts'
import { mayAdminister, mayRevoke } from '../api/session.ts'
import { ActSheet } from '../components/act-sheet.tsx'
import { LinesField, toLines } from '../components/lines-field.tsx'
import { SecondsField } from '../components/seconds-field.tsx'
import { showCutOff } from '../revoke/cut-off-receipt.ts'
import { say } from '../say.ts'
import { closeSheet, sheet } from '../sheet-place.ts'
import type { SiteProps } from '../site-props.ts'

const CREDENTIAL_SECONDS_MAX = 366 * 86_400
const TOKEN_SECONDS_MAX = 86_400

/** What people call an issuer: its label, its host, or the end of its name. */
export function toIssuerName({ label, issuer }: Pick<Issuer, 'label' | 'issuer'>): string {
  if (label !== null) return label
  const web = /^(?:did:web:|https?:\/\/)([^/:]+)/.exec(issuer)?.[1]
  return web ?? issuer.slice(-8)
}

interface TrustProps extends SiteProps {
  readonly onDone: (issuer: Issuer) => void
}

/** Trusts an issuer of credentials, by its DID, or an OAuth issuer, by its URL. */
export function TrustIssuer({ siteId, onDone }: TrustProps): JSX.Element {
  const [type, setType] = useState<'credential' | 'oauth'>('credential')
  const [issuer, setIssuer] = useState('')
  const [label, setLabel] = useState('')
  const [scope, setScope] = useState('')
  const [seconds, setSeconds] = useState('')
  const [keys, setKeys] = useState('')
  const [audience, setAudience] = useState('')
  const [clients, setClients] = useState('')
  const [keySet, setKeySet] = useState('')
  const isOAuth = type === 'oauth'
  const name = issuer.trim()
  const text = (value: string) => (value.trim() === '' ? undefined : value.trim())
  const number = seconds === '' ? undefined : Number(seconds)
  const common = { issuer: name, label: text(label), scope: toLines(scope) }
  const isComplete = name !== '' && (!isOAuth || toLines(audience) !== undefined)
  return (
    <ActSheet<Issuer>
      title={say('Trust an issuer')}
      siteId={siteId}
      verb={say('Trust the issuer')}
      busyVerb={say('Fetching its keys…')}
      toRequest={(reason) =>
        isComplete
          ? {
              method: 'POST',
              path: `/api/sites/${siteId}/issuers`,
              site: siteId,
              timeoutMs: 30_000,
              body: isOAuth
                ? {
                    type,
                    ...common,
                    audience: toLines(audience),
                    client_ids: toLines(clients),
                    jwks_uri: text(keySet),
                    token_ttl_seconds_max: number,
                    reason,
                  }
                : { ...common, keys: toLines(keys), credential_ttl_seconds_max: number, reason },
            }
          : undefined
      }
      toCli={(reason) =>
        toCli(['issuers', 'add', name], {
          site: siteId,
          oauth: isOAuth,
          label: text(label),
          scope: toLines(scope),
          ...(isOAuth
            ? {
                audience: toLines(audience),
                'client-id': toLines(clients),
                'jwks-uri': text(keySet),
                'token-ttl-seconds-max': number,
              }
            : { keys: toLines(keys), 'credential-ttl-seconds-max': number }),
          reason,
        })
      }
      onDone={onDone}
      onClose={closeSheet}
    >
      <label>
        {say('It signs')}
        <select
          value={type}
          onChange={(event) => setType(event.currentTarget.value === 'oauth' ? 'oauth' : 'credential')}
        >
          <option value="credential">{say('Credentials')}</option>
          <option value="oauth">{say('OAuth access tokens (JWT)')}</option>
        </select>
      </label>
      <label>
        {isOAuth ? 'URL' : 'DID'}
        <input
          data-first=""
          spellcheck={false}
          maxLength={1024}
          value={issuer}
          placeholder={isOAuth ? 'https://idp.example' : 'did:web:issuer.example'}
          onInput={(event) => setIssuer(event.currentTarget.value)}
        />
        <span class="hint">
          {isOAuth ? say('Exactly as iss of its tokens says it.') : say('did:web, did:key or did:jwk.')}
        </span>
      </label>
      {isOAuth && (
        <LinesField
          label={say('Audience')}
          hint={say('One of these must be in aud of every token.')}
          example="https://api.shop.example"
          value={audience}
          onChange={setAudience}
        />
      )}
      <label>
        {say('Label')} <span class="optional">{say('optional')}</span>
        <input maxLength={64} value={label} onInput={(event) => setLabel(event.currentTarget.value)} />
      </label>
      <LinesField
        label={say('May grant at most')}
        hint={say('Scopes, one in each line. Empty: every scope.')}
        example="orders:read"
        value={scope}
        onChange={setScope}
      />
      <SecondsField
        label={say('Longest life in seconds')}
        hint={isOAuth ? say('Empty: the default of the service.') : say('Empty: as the site allows.')}
        max={isOAuth ? TOKEN_SECONDS_MAX : CREDENTIAL_SECONDS_MAX}
        value={seconds}
        onChange={setSeconds}
      />
      {isOAuth ? (
        <>
          <LinesField
            label={say('Only these clients')}
            hint={say('Empty: tokens of all its clients.')}
            value={clients}
            onChange={setClients}
          />
          <label>
            {say('URL of its key set')} <span class="optional">{say('optional')}</span>
            <input
              type="url"
              spellcheck={false}
              value={keySet}
              onInput={(event) => setKeySet(event.currentTarget.value)}
            />
            <span class="hint">{say('Empty: the service finds it in the metadata of the issuer.')}</span>
          </label>
        </>
      ) : (
        name.startsWith('did:web:') && (
          <LinesField
            label={say('Fixed keys')}
            hint={say(
              'Multikeys (z6Mk…), one in each line. Empty: the service fetches them and keeps them fresh.',
            )}
            value={keys}
            onChange={setKeys}
          />
        )
      )}
    </ActSheet>
  )
}

interface IssuerProps extends SiteProps {
  readonly issuer: Issuer
  readonly finish: (words: string) => void
}

/** The act that the address names. */
export function IssuerSheets({ siteId, issuer, finish }: IssuerProps): JSX.Element | null {
  const { act, on } = sheet.value
  const mayChange = mayAdminister(siteId)
  const props = { siteId, issuer, finish }
  if (act === 'cut-off' && mayRevoke(siteId)) return <CutOff {...props} />
  if (!mayChange) return null
  switch (act) {
    case 'change':
      return <ChangeLimits {...props} />
    case 'add-key':
      return <AddKey {...props} />
    case 'trust-again':
      return <TrustAgain {...props} />
    case 'reactivate-key':
      return on === undefined || !issuer.keys.some(({ id }) => id === on) ? null : (
        <ReactivateKey key={on} {...props} keyId={on} />
      )
    default:
      return null
  }
}

function toPath(siteId: string, { issuer_id }: Issuer): string {
  return `/api/sites/${siteId}/issuers/${issuer_id}`
}

/** Whether the new limit allows less than the one before. */
function isNarrower(before: readonly string[] | null, after: readonly string[] | null): boolean {
  if (after === null) return false
  return before === null || before.some((scope) => !after.includes(scope))
}

function ChangeLimits({ siteId, issuer, finish }: IssuerProps): JSX.Element {
  const isOAuth = issuer.type === 'oauth'
  const ttl = isOAuth ? issuer.token_ttl_seconds_max : issuer.credential_ttl_seconds_max
  const [label, setLabel] = useState(issuer.label ?? '')
  const [scope, setScope] = useState(issuer.scope?.join('\n') ?? '')
  const [seconds, setSeconds] = useState(ttl === null ? '' : String(ttl))
  const [audience, setAudience] = useState(isOAuth ? issuer.audience.join('\n') : '')
  const next = {
    label: label.trim() === '' ? null : label.trim(),
    scope: toLines(scope) ?? null,
    seconds: seconds === '' ? null : Number(seconds),
    audience: toLines(audience),
  }
  const ttlName = isOAuth ? 'token_ttl_seconds_max' : 'credential_ttl_seconds_max'
  const changes = {
    ...(next.label !== issuer.label && { label: next.label }),
    ...(JSON.stringify(next.scope) !== JSON.stringify(issuer.scope) && { scope: next.scope }),
    ...(next.seconds !== ttl && { [ttlName]: next.seconds }),
    ...(isOAuth &&
      JSON.stringify(next.audience) !== JSON.stringify(issuer.audience) && { audience: next.audience }),
  }
  const isEnding =
    isNarrower(issuer.scope, next.scope) ||
    (next.seconds !== null && (ttl === null || next.seconds < ttl)) ||
    'audience' in changes
  const cleared = [
    ...(next.label === null && issuer.label !== null ? ['label'] : []),
    ...(next.scope === null && issuer.scope !== null ? ['scope'] : []),
    ...(next.seconds === null && ttl !== null ? [ttlName] : []),
  ]
  return (
    <ActSheet<ChangedIssuer>
      title={say('Change limits')}
      siteId={siteId}
      verb={say('Change the issuer')}
      busyVerb={say('Changing…')}
      isEnding={isEnding}
      typedName={isEnding ? toIssuerName(issuer) : undefined}
      toRequest={(reason) =>
        Object.keys(changes).length === 0
          ? undefined
          : { method: 'PATCH', path: toPath(siteId, issuer), site: siteId, body: { ...changes, reason } }
      }
      toCli={(reason) =>
        toCli(['issuers', 'change', issuer.issuer], {
          site: siteId,
          label: 'label' in changes ? (next.label ?? undefined) : undefined,
          scope: 'scope' in changes ? (next.scope ?? undefined) : undefined,
          [ttlName.replaceAll('_', '-')]: ttlName in changes ? (next.seconds ?? undefined) : undefined,
          audience: 'audience' in changes ? next.audience : undefined,
          clear: cleared.length === 0 ? undefined : cleared,
          yes: isEnding,
          reason,
        })
      }
      onDone={() => finish(say('The issuer was changed.'))}
      onClose={closeSheet}
    >
      <label>
        {say('Label')}
        <input
          data-first=""
          maxLength={64}
          value={label}
          onInput={(event) => setLabel(event.currentTarget.value)}
        />
      </label>
      <LinesField
        label={say('May grant at most')}
        hint={say('Scopes, one in each line. Empty: every scope.')}
        value={scope}
        onChange={setScope}
      />
      <SecondsField
        label={say('Longest life in seconds')}
        hint={say('Empty: as the site allows.')}
        max={isOAuth ? TOKEN_SECONDS_MAX : CREDENTIAL_SECONDS_MAX}
        value={seconds}
        onChange={setSeconds}
      />
      {isOAuth && (
        <LinesField
          label={say('Audience')}
          hint={say('One of these must be in aud of every token.')}
          value={audience}
          onChange={setAudience}
        />
      )}
      {isEnding && (
        <p class="banner amber">
          <strong>{say('This ends access.')}</strong>{' '}
          {say(
            'What the issuer signed beyond the new limits is rejected immediately, also if it was accepted before.',
          )}
        </p>
      )}
    </ActSheet>
  )
}

function AddKey({ siteId, issuer, finish }: IssuerProps): JSX.Element {
  const [key, setKey] = useState('')
  const all = [
    ...issuer.keys.flatMap((each) => (each.status === 'compromised' ? [] : [each.key])),
    ...(key.trim() === '' ? [] : [key.trim()]),
  ]
  return (
    <ActSheet<ChangedIssuer>
      title={say('Add a key')}
      siteId={siteId}
      verb={say('Add the key')}
      busyVerb={say('Adding…')}
      toRequest={(reason) =>
        key.trim() === ''
          ? undefined
          : { method: 'PATCH', path: toPath(siteId, issuer), site: siteId, body: { keys: all, reason } }
      }
      toCli={(reason) => toCli(['issuers', 'change', issuer.issuer], { site: siteId, keys: all, reason })}
      onDone={() => finish(say('The key was added.'))}
      onClose={closeSheet}
    >
      <p>
        {say('The keys that the issuer has stay. The new one is accepted immediately, at every verifier.')}
      </p>
      <label>
        {say('New key')}
        <input
          data-first=""
          spellcheck={false}
          value={key}
          placeholder="z6Mk…"
          onInput={(event) => setKey(event.currentTarget.value)}
        />
        <span class="hint">{say('A public key as a multikey.')}</span>
      </label>
    </ActSheet>
  )
}

function TrustAgain({ siteId, issuer, finish }: IssuerProps): JSX.Element {
  return (
    <ActSheet<ChangedIssuer>
      title={say('Trust {issuer} again', { issuer: toIssuerName(issuer) })}
      siteId={siteId}
      verb={say('Trust the issuer')}
      busyVerb={say('Trusting…')}
      typedName={toIssuerName(issuer)}
      toRequest={(reason) => ({
        method: 'PATCH',
        path: toPath(siteId, issuer),
        site: siteId,
        body: { status: 'trusted', reason },
      })}
      toCli={(reason) =>
        toCli(['issuers', 'change', issuer.issuer], { site: siteId, status: 'trusted', reason })
      }
      onDone={() => finish(say('The issuer is trusted again.'))}
      onClose={closeSheet}
    >
      <p class="banner amber">
        <strong>{say('This gives access back.')}</strong>{' '}
        {say('Everything that the issuer signed and that has not expired or been revoked is accepted again.')}
      </p>
    </ActSheet>
  )
}

function ReactivateKey({
  siteId,
  issuer,
  finish,
  keyId,
}: IssuerProps & { readonly keyId: string }): JSX.Element {
  return (
    <ActSheet<ChangedIssuer>
      title={say('Reactivate a key')}
      siteId={siteId}
      verb={say('Reactivate the key')}
      busyVerb={say('Changing…')}
      toRequest={(reason) => ({
        method: 'PATCH',
        path: `/api/sites/${siteId}/issuers/${issuer.issuer_id}/keys/${encodeURIComponent(keyId)}`,
        site: siteId,
        body: { status: 'active', reason },
      })}
      toCli={(reason) =>
        toCli(['issuers', 'change-key', issuer.issuer, keyId], { site: siteId, status: 'active', reason })
      }
      onDone={() => finish(say('The key is active again.'))}
      onClose={closeSheet}
    >
      <p>{say('{keyId} of {issuer}', { keyId: <code>{keyId}</code>, issuer: toIssuerName(issuer) })}</p>
      <p>{say('What the key signs is accepted again, at every verifier.')}</p>
    </ActSheet>
  )
}

function CutOff({ siteId, issuer }: IssuerProps): JSX.Element {
  return (
    <ActSheet<CutOffAnswer>
      title={say('End everything signed so far')}
      siteId={siteId}
      verb={say('End all of it')}
      busyVerb={say('Ending…')}
      ends={{ type: 'cut_off_issuer', issuer: issuer.issuer }}
      typedName={toIssuerName(issuer)}
      toRequest={(reason) => ({
        method: 'POST',
        path: `/api/sites/${siteId}/cut-off-issuer`,
        site: siteId,
        body: { issuer: issuer.issuer, reason },
      })}
      toCli={(reason) => toCli(['cut-off', 'issuer', issuer.issuer], { site: siteId, yes: true, reason })}
      onDone={(answer, sent) => {
        closeSheet()
        const words = { title: toIssuerName(issuer), subject: say('This cut-off'), done: say('Cut off') }
        showCutOff(siteId, words, answer, sent)
      }}
      onClose={closeSheet}
    >
      <p>
        {say(
          'Everything that {issuer} has signed until now is rejected. It stays trusted: what it signs later is accepted.',
          { issuer: <strong>{issuer.issuer}</strong> },
        )}
      </p>
    </ActSheet>
  )
}
