import type { ChangedSite, CutOff as CutOffAnswer, PreviewAct, Site } from '@countersign/core/contract'
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { call } from '../api/call.ts'
import { toCli } from '../api/command.ts'
import { mayAdminister } from '../api/session.ts'
import { ActSheet } from '../components/act-sheet.tsx'
import { AsCommand } from '../components/as-command.tsx'
import { Fault } from '../components/fault.tsx'
import { LinesField, toLines } from '../components/lines-field.tsx'
import { formatSpan, SecondsField } from '../components/seconds-field.tsx'
import { Pill, type Tone } from '../components/state.tsx'
import { useChanging } from '../components/use-changing.ts'
import { showCutOff } from '../revoke/cut-off-receipt.ts'
import { showReceipt, startRevokeTarget } from '../revoke/state.ts'
import { findNewest, toOne } from '../revoke/target.ts'
import { say } from '../say.ts'
import { closeSheet, openSheet, sheet } from '../sheet-place.ts'
import type { SiteProps } from '../site-props.ts'
import { LookCard, LookSheet } from './site-look.tsx'

type Switch = 'bearer' | 'holder_proof' | 'delegation'

interface Mode {
  readonly title: string
  readonly about: string
  /** The value that accepts more, and the one that accepts less. */
  readonly wide: string
  readonly strict: string
  readonly widen: readonly [act: string, consequence: string]
  readonly tighten: readonly [act: string, consequence: string]
  readonly words: Readonly<Record<string, readonly [tone: Tone, word: string]>>
}

const MODES: Readonly<Record<Switch, Mode>> = {
  bearer: {
    title: say('Bearer tokens'),
    about: say(
      'Any caller that has a bearer token can use it. A credential with a holder key cannot be replayed.',
    ),
    wide: 'on',
    strict: 'off',
    widen: [say('Switch on'), say('Bearer tokens are accepted again. Tokens that ended stay invalid.')],
    tighten: [say('Switch off'), say('All bearer tokens end immediately, and no new ones are accepted.')],
    words: { on: ['late', say('Accepted')], off: ['good', say('Off')] },
  },
  holder_proof: {
    title: say('Holder proof'),
    about: say('A signature on each request proves that the caller has the key of the credential.'),
    wide: 'optional',
    strict: 'required',
    widen: [
      say('Make it optional'),
      say('Credentials without a holder key and bearer tokens are accepted again.'),
    ],
    tighten: [
      say('Require it'),
      say('Bearer tokens and credentials without a holder key are rejected immediately, at every verifier.'),
    ],
    words: { optional: ['late', say('Optional')], required: ['good', say('Required')] },
  },
  delegation: {
    title: say('Delegation'),
    about: say('Holders can delegate less than they have to another key, such as that of an agent.'),
    wide: 'on',
    strict: 'off',
    widen: [
      say('Switch on'),
      say('Delegated credentials that have not expired or been revoked are accepted again.'),
    ],
    tighten: [say('Switch off'), say('All delegated credentials are rejected immediately.')],
    words: { on: ['none', say('Allowed')], off: ['none', say('Off')] },
  },
}

/** The settings of a site. What ends access shows first what it ends, and asks for the name. */
export function SiteSettings({ siteId }: SiteProps): JSX.Element {
  const path = `/api/sites/${siteId}`
  const mayChange = mayAdminister(siteId)
  const {
    value: site,
    fault,
    reload,
    finish,
  } = useChanging(path, (signal) => call<Site>(path, { site: siteId, signal }))
  return (
    <>
      <div class="title">
        <div>
          <h1>{say('Site settings')}</h1>
          <p class="meta">{siteId}</p>
        </div>
        <div class="acts">
          <AsCommand curl={{ path }} cli={toCli(['sites', 'show', siteId])} />
        </div>
      </div>
      <Fault text={fault} onRetry={reload} />
      {site !== undefined && (
        <>
          <General site={site} mayChange={mayChange} />
          <h2 class="over">{say('What is accepted')}</h2>
          <ul class="card settings">
            {(Object.keys(MODES) as Switch[]).map((name) => (
              <Setting key={name} siteId={siteId} name={name} value={site[name]} mayChange={mayChange} />
            ))}
          </ul>
          <LookCard site={site} mayChange={mayChange} />
          {mayChange && (
            <>
              <h2 class="over">{say('In an emergency')}</h2>
              <section class="card danger-card">
                <div>
                  <strong>{say('End all access at this site')}</strong>
                  <p class="meta">
                    {say(
                      'Credentials, tokens, sign-ins and offers all end. Every user needs a new credential.',
                    )}
                  </p>
                </div>
                <button type="button" class="danger" onClick={() => openSheet('cut-off')}>
                  {say('End all access')}
                </button>
              </section>
              <Sheets siteId={siteId} site={site} finish={finish} />
            </>
          )}
        </>
      )}
    </>
  )
}

function General({ site, mayChange }: { readonly site: Site; readonly mayChange: boolean }): JSX.Element {
  return (
    <section class="card general">
      <dl class="rows">
        <dt>{say('Name')}</dt>
        <dd>{site.name ?? say('None')}</dd>
        <dt>{say('Hosts behind forward-auth')}</dt>
        <dd>{site.hosts === null ? site.site_id : site.hosts.join(', ')}</dd>
        <dt>{say('Sign-in returns to')}</dt>
        <dd>{site.return_urls.length === 0 ? say('No address yet') : site.return_urls.join(', ')}</dd>
        <dt>{say('Longest life of credentials')}</dt>
        <dd>
          {site.credential_ttl_seconds_max === null
            ? say('No limit')
            : formatSpan(site.credential_ttl_seconds_max)}
        </dd>
        <dt>{say('Longest age of revocation data')}</dt>
        <dd>{formatSpan(site.max_staleness_seconds_max)}</dd>
      </dl>
      {mayChange && (
        <button type="button" onClick={() => openSheet('change')}>
          {say('Change')}
        </button>
      )}
    </section>
  )
}

interface SettingProps extends SiteProps {
  readonly name: Switch
  readonly value: string
  readonly mayChange: boolean
}

function Setting({ siteId, name, value, mayChange }: SettingProps): JSX.Element {
  const mode = MODES[name]
  const [tone, word] = mode.words[value] ?? ['none', value]
  const isWide = value === mode.wide
  return (
    <li>
      <div>
        <strong>{mode.title}</strong>
        <p class="meta">{mode.about}</p>
      </div>
      <Pill tone={tone}>{word}</Pill>
      {mayChange && (
        <button
          type="button"
          class={isWide ? 'danger' : ''}
          onClick={() =>
            name === 'bearer' && isWide
              ? startRevokeTarget(siteId, { kind: 'bearer' })
              : openSheet('switch', name)
          }
        >
          {isWide ? mode.tighten[0] : mode.widen[0]}
        </button>
      )}
    </li>
  )
}

interface SheetsProps extends SiteProps {
  readonly site: Site
  readonly finish: (words: string) => void
}

function Sheets(props: SheetsProps): JSX.Element | null {
  const { act, on } = sheet.value
  if (act === 'change') return <Change {...props} />
  if (act === 'look') return <LookSheet {...props} />
  if (act === 'cut-off') return <CutOff {...props} />
  if (act === 'switch' && on !== undefined && Object.hasOwn(MODES, on))
    return <SwitchSheet key={on} {...props} name={on as Switch} />
  return null
}

function SwitchSheet({ siteId, site, finish, name }: SheetsProps & { readonly name: Switch }): JSX.Element {
  const mode = MODES[name]
  const isEnding = site[name] === mode.wide
  const value = isEnding ? mode.strict : mode.wide
  const [verb, consequence] = isEnding ? mode.tighten : mode.widen
  const ends = isEnding ? toPreview(name) : undefined
  return (
    <ActSheet<ChangedSite>
      title={mode.title}
      siteId={siteId}
      verb={verb}
      busyVerb={say('Changing…')}
      isEnding={isEnding}
      {...(ends !== undefined && { ends })}
      typedName={isEnding ? siteId : undefined}
      toRequest={(reason) => ({
        method: 'PATCH',
        path: `/api/sites/${siteId}`,
        site: siteId,
        body: { [name]: value, reason },
      })}
      toCli={(reason) =>
        toCli(['sites', 'change', siteId], { [name.replaceAll('_', '-')]: value, yes: isEnding, reason })
      }
      onDone={async (_answer, { request, cli, reason }) => {
        if (!isEnding) return finish(say('The site was changed.'))
        const seq = await findNewest(siteId, 'site.changed', { [name]: value }).catch(() => undefined)
        closeSheet()
        const words = {
          title: mode.title,
          subject: say('This change'),
          done: mode.words[value]?.[1] ?? value,
        }
        const target = { kind: 'change', id: undefined, ...words, request, cli } as const
        showReceipt(siteId, target, reason, toOne(seq, siteId))
      }}
      onClose={closeSheet}
    >
      <p>{consequence}</p>
      {!isEnding && (
        <p class="banner amber">
          <strong>{say('This accepts more.')}</strong> {say('It applies at every verifier of the site.')}
        </p>
      )}
    </ActSheet>
  )
}

/** The service cannot count what a required holder proof ends. */
function toPreview(name: Switch): PreviewAct | undefined {
  return name === 'holder_proof' ? undefined : { type: 'change_site', [name]: 'off' }
}

function CutOff({ siteId }: SheetsProps): JSX.Element {
  return (
    <ActSheet<CutOffAnswer>
      title={say('End all access')}
      siteId={siteId}
      verb={say('End all access')}
      busyVerb={say('Ending…')}
      ends={{ type: 'cut_off_site' }}
      typedName={siteId}
      toRequest={(reason) => ({
        method: 'POST',
        path: `/api/sites/${siteId}/cut-off`,
        site: siteId,
        body: { confirm: siteId, reason },
      })}
      toCli={(reason) => toCli(['cut-off', 'site', siteId], { yes: true, reason })}
      onDone={(answer, sent) => {
        closeSheet()
        showCutOff(
          siteId,
          { title: say('All access'), subject: say('This cut-off'), done: say('Ended') },
          answer,
          sent,
        )
      }}
      onClose={closeSheet}
    >
      <p>
        {say(
          'Everything that was issued for {siteId} until now is rejected, at every verifier. What is issued later is accepted.',
          { siteId: <strong>{siteId}</strong> },
        )}
      </p>
    </ActSheet>
  )
}

const CREDENTIAL_SECONDS_MAX = 366 * 86_400
const STALENESS = { min: 5, max: 3600 }

function Change({ siteId, site, finish }: SheetsProps): JSX.Element {
  const [name, setName] = useState(site.name ?? '')
  const [hosts, setHosts] = useState(site.hosts?.join('\n') ?? '')
  const [returns, setReturns] = useState(site.return_urls.join('\n'))
  const [ttl, setTtl] = useState(String(site.credential_ttl_seconds_max ?? ''))
  const [staleness, setStaleness] = useState(String(site.max_staleness_seconds_max))
  const next = {
    name: name.trim() === '' ? null : name.trim(),
    hosts: toLines(hosts) ?? null,
    return_urls: toLines(returns) ?? [],
    credential_ttl_seconds_max: ttl === '' ? null : Number(ttl),
    max_staleness_seconds_max: Number(staleness),
  }
  const changes: Partial<typeof next> = Object.fromEntries(
    Object.entries(next).filter(
      ([member, value]) => JSON.stringify(value) !== JSON.stringify(site[member as keyof typeof next]),
    ),
  )
  const before = site.credential_ttl_seconds_max
  const shorter = changes.credential_ttl_seconds_max ?? null
  const isEnding = shorter !== null && (before === null || shorter < before)
  const cleared = Object.entries(changes).flatMap(([member, value]) => (value === null ? [member] : []))
  return (
    <ActSheet<ChangedSite>
      title={say('Change the site')}
      siteId={siteId}
      verb={say('Change the site')}
      busyVerb={say('Changing…')}
      isEnding={isEnding}
      typedName={isEnding ? siteId : undefined}
      toRequest={(reason) =>
        Object.keys(changes).length === 0
          ? undefined
          : { method: 'PATCH', path: `/api/sites/${siteId}`, site: siteId, body: { ...changes, reason } }
      }
      toCli={(reason) =>
        toCli(['sites', 'change', siteId], {
          name: changes.name ?? undefined,
          hosts: changes.hosts ?? undefined,
          'return-urls': changes.return_urls,
          'credential-ttl-seconds-max': changes.credential_ttl_seconds_max ?? undefined,
          'max-staleness-seconds-max': changes.max_staleness_seconds_max,
          clear: cleared.length === 0 ? undefined : cleared,
          reason,
        })
      }
      onDone={() => finish(say('The site was changed.'))}
      onClose={closeSheet}
    >
      <label>
        {say('Name')}
        <input
          data-first=""
          maxLength={128}
          value={name}
          onInput={(event) => setName(event.currentTarget.value)}
        />
      </label>
      <LinesField
        label={say('Hosts behind forward-auth')}
        hint={say('One in each line. Empty: {siteId} only.', { siteId })}
        value={hosts}
        onChange={setHosts}
      />
      <LinesField
        label={say('Sign-in may return to')}
        hint={say('Whole addresses, one in each line.')}
        example="https://shop.example/callback"
        value={returns}
        onChange={setReturns}
      />
      <SecondsField
        label={say('Longest life of credentials in seconds')}
        hint={say('Empty: no limit of this site.')}
        max={CREDENTIAL_SECONDS_MAX}
        value={ttl}
        onChange={setTtl}
      />
      <SecondsField
        label={say('Longest age of revocation data in seconds')}
        {...STALENESS}
        value={staleness}
        onChange={setStaleness}
      />
      {isEnding && (
        <p class="banner amber">
          <strong>{say('This ends access.')}</strong>{' '}
          {say('Credentials that live longer than this are rejected immediately.')}
        </p>
      )}
    </ActSheet>
  )
}
