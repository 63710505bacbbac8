import type { ChangedSite, Site } from '@countersign/core/contract'
import '../style/look.css'
import type { JSX } from 'preact'
import { useEffect, useId, useLayoutEffect, useState } from 'preact/hooks'
import type { FieldError } from '../api/call.ts'
import { toCli } from '../api/command.ts'
import { ActSheet } from '../components/act-sheet.tsx'
import { say } from '../say.ts'
import { closeSheet, openSheet } from '../sheet-place.ts'

/** What users see of a site on hosted pages. */
interface Look {
  readonly siteId: string
  readonly name: string
  readonly logoPath: string | null
  /** Of a logo that the service has not fetched yet. */
  readonly isNewLogo: boolean
  readonly accent: string | null
  readonly hasSupport: boolean
  readonly hasPrivacy: boolean
}

interface LookCardProps {
  readonly site: Site
  readonly mayChange: boolean
}

/** The look of the sign-in page, as it is now. */
export function LookCard({ site, mayChange }: LookCardProps): JSX.Element {
  return (
    <>
      <h2 class="over">{say('Sign-in page')}</h2>
      <section class="card look-card">
        <div class="general">
          <dl class="rows">
            <dt>{say('Logo')}</dt>
            <dd class="url">{site.logo_url ?? say('None')}</dd>
            <dt>{say('Colour of the main button')}</dt>
            <dd>{site.accent ?? say('Green')}</dd>
            <dt>{say('Help for users')}</dt>
            <dd class="url">{site.support_url ?? say('None')}</dd>
            <dt>{say('Privacy notice')}</dt>
            <dd class="url">{site.privacy_url ?? say('None')}</dd>
          </dl>
          {mayChange && (
            <button type="button" onClick={() => openSheet('look')}>
              {say('Change the look')}
            </button>
          )}
        </div>
        <LookPreview
          look={{
            siteId: site.site_id,
            name: site.name ?? site.site_id,
            logoPath: site.logo_path,
            isNewLogo: false,
            accent: site.accent,
            hasSupport: site.support_url !== null,
            hasPrivacy: site.privacy_url !== null,
          }}
        />
      </section>
    </>
  )
}

type Member = 'logo_url' | 'accent' | 'support_url' | 'privacy_url'

interface LookSheetProps {
  readonly siteId: string
  readonly site: Site
  readonly finish: (words: string) => void
}

/** Changes the look. The preview follows what is typed, and the service checks it. */
export function LookSheet({ siteId, site, finish }: LookSheetProps): JSX.Element {
  const [texts, setTexts] = useState<Readonly<Record<Member, string>>>({
    logo_url: site.logo_url ?? '',
    accent: site.accent ?? '',
    support_url: site.support_url ?? '',
    privacy_url: site.privacy_url ?? '',
  })
  const [isFetchedAgain, setIsFetchedAgain] = useState(false)
  const [errors, setErrors] = useState<readonly FieldError[]>([])
  const value = (member: Member) => (texts[member].trim() === '' ? null : texts[member].trim())
  const isChanged = (member: Member) =>
    value(member) !== site[member] || (member === 'logo_url' && isFetchedAgain && site.logo_url !== null)
  const changed = (Object.keys(texts) as Member[]).filter(isChanged)
  const changes = Object.fromEntries(changed.map((member) => [member, value(member)]))
  const cleared = changed.filter((member) => value(member) === null)
  const field = (member: Member) => ({
    value: texts[member],
    error: errors.find(({ path }) => path === member)?.message,
    onChange(text: string) {
      setTexts((last) => ({ ...last, [member]: text }))
      setErrors((last) => last.filter(({ path }) => path !== member))
    },
  })
  // With the message that the field shows now, not a frame later: the next key belongs to it.
  useLayoutEffect(() => {
    if (errors.length > 0) document.querySelector<HTMLElement>('.look-form [aria-invalid=true]')?.focus()
  }, [errors])
  const logo = value('logo_url')
  return (
    <ActSheet<ChangedSite>
      title={say('Look of the sign-in page')}
      siteId={siteId}
      verb={say('Change the look')}
      busyVerb={say('Changing…')}
      toRequest={(reason) =>
        changed.length === 0
          ? undefined
          : { method: 'PATCH', path: `/api/sites/${siteId}`, site: siteId, body: { ...changes, reason } }
      }
      toCli={(reason) =>
        toCli(['sites', 'change', siteId], {
          'logo-url': changes.logo_url ?? undefined,
          accent: changes.accent ?? undefined,
          'support-url': changes.support_url ?? undefined,
          'privacy-url': changes.privacy_url ?? undefined,
          clear: cleared.length === 0 ? undefined : cleared,
          reason,
        })
      }
      onDone={() => finish(say('The look was changed.'))}
      onFieldErrors={setErrors}
      onClose={closeSheet}
    >
      <LookPreview
        look={{
          siteId,
          name: site.name ?? siteId,
          logoPath: logo === site.logo_url ? site.logo_path : null,
          isNewLogo: logo !== null && (logo !== site.logo_url || isFetchedAgain),
          accent: value('accent'),
          hasSupport: value('support_url') !== null,
          hasPrivacy: value('privacy_url') !== null,
        }}
      />
      <div class="look-form">
        <LookField
          label={say('Logo')}
          hint={say('PNG, WebP or JPEG of at most 64 KiB. The service fetches it when you save.')}
          example="https://shop.example/logo.png"
          isFirst
          {...field('logo_url')}
        />
        {site.logo_url !== null && logo === site.logo_url && (
          <label class="check">
            <input
              type="checkbox"
              checked={isFetchedAgain}
              onChange={(event) => setIsFetchedAgain(event.currentTarget.checked)}
            />
            {say('Fetch the logo again')}
          </label>
        )}
        <AccentField {...field('accent')} />
        <LookField
          label={say('Help for users')}
          hint={say('An https address, or mailto: with one address.')}
          example="https://shop.example/help"
          {...field('support_url')}
        />
        <LookField
          label={say('Privacy notice')}
          hint={say('An https address.')}
          example="https://shop.example/privacy"
          {...field('privacy_url')}
        />
      </div>
    </ActSheet>
  )
}

interface FieldProps {
  readonly value: string
  readonly error: string | undefined
  readonly onChange: (text: string) => void
}

interface LookFieldProps extends FieldProps {
  readonly label: string
  readonly hint: string
  readonly example: string
  readonly isFirst?: boolean
}

function LookField(props: LookFieldProps): JSX.Element {
  const { label, hint, example, isFirst = false, value, error, onChange } = props
  const id = useId()
  return (
    <div>
      <label>
        {label}
        <input
          data-first={isFirst ? '' : undefined}
          inputMode="url"
          autocomplete="off"
          spellcheck={false}
          placeholder={example}
          value={value}
          aria-invalid={error !== undefined}
          aria-describedby={id}
          onInput={(event) => onChange(event.currentTarget.value)}
        />
      </label>
      <FieldNote id={id} hint={hint} error={error} />
    </div>
  )
}

const COLOUR = /^#[0-9a-f]{6}$/i
/** That of the service, for the picker when none is chosen. */
const GREEN = '#0a6448'

function AccentField({ value, error, onChange }: FieldProps): JSX.Element {
  const id = useId()
  return (
    <div>
      <div class="accent-field">
        <label>
          {say('Colour of the main button')}
          <input
            autocomplete="off"
            spellcheck={false}
            placeholder={GREEN}
            value={value}
            aria-invalid={error !== undefined}
            aria-describedby={id}
            onInput={(event) => onChange(event.currentTarget.value)}
          />
        </label>
        <input
          type="color"
          aria-label={say('Choose a colour')}
          value={COLOUR.test(value.trim()) ? value.trim() : GREEN}
          onInput={(event) => onChange(event.currentTarget.value)}
        />
      </div>
      <FieldNote
        id={id}
        hint={say('Pages use a shade of it on which text can be read. Empty: green.')}
        error={error}
      />
    </div>
  )
}

interface FieldNoteProps {
  readonly id: string
  readonly hint: string
  readonly error: string | undefined
}

function FieldNote({ id, hint, error }: FieldNoteProps): JSX.Element {
  return (
    <span id={id} class="hint">
      {error !== undefined && (
        <strong class="field-error">{say('Not accepted: {reason}.', { reason: error })} </strong>
      )}
      {hint}
    </span>
  )
}

/** The head of the sign-in page with its button and links, in light and dark. */
function LookPreview({ look }: { readonly look: Look }): JSX.Element {
  const shades = useShades(look.accent)
  const style = shades === undefined ? undefined : { '--look-fill': shades.fill, '--look-text': shades.text }
  return (
    <div class="looks">
      {(['light', 'dark'] as const).map((scheme) => (
        <figure key={scheme}>
          <figcaption>{scheme === 'light' ? say('Light') : say('Dark')}</figcaption>
          <div class={`look ${scheme}`} style={style}>
            <div class="look-who">
              <Sign look={look} />
              <div>
                <b>
                  <bdi>{look.name}</bdi>
                </b>
                <span class="look-id">
                  <bdi>{look.siteId}</bdi> <span class="look-tick">✓ {say('Verified')}</span>
                </span>
              </div>
            </div>
            <span class="look-button">{say('Continue')}</span>
            {(look.hasSupport || look.hasPrivacy) && (
              <div class="look-links">
                {look.hasSupport && <span>{say('Contact {site}', { site: look.name })}</span>}
                {look.hasPrivacy && <span>{say('Privacy')}</span>}
              </div>
            )}
          </div>
        </figure>
      ))}
    </div>
  )
}

/** The logo or, as on hosted pages, the first letters of the name. */
function Sign({ look: { siteId, name, logoPath, isNewLogo } }: { readonly look: Look }): JSX.Element {
  if (isNewLogo)
    return (
      <span class="look-sign look-new" title={say('The service fetches it when you save.')}>
        {say('New')}
      </span>
    )
  if (logoPath !== null) return <img class="look-sign" src={logoPath} alt={say('Logo')} />
  const words = name.split(/[\s./_-]+/).filter((word) => word !== '')
  const letters = words.slice(0, 2).map((word) => Array.from(word)[0] ?? '')
  return (
    <span class={`look-sign look-letters tone-${toTone(siteId)}`} aria-hidden="true">
      {letters.join('').toUpperCase()}
    </span>
  )
}

/** The colour of the letters, as hosted pages choose it. */
function toTone(siteId: string): number {
  return Array.from(siteId).reduce((sum, letter) => (sum * 31 + (letter.codePointAt(0) ?? 0)) % 9973, 7) % 6
}

interface Shades {
  readonly fill: string
  readonly text: string
}

/** The shades that hosted pages use, from the service. Undefined for no accent, and meanwhile. */
function useShades(accent: string | null): Shades | undefined {
  const hex = accent !== null && COLOUR.test(accent) ? accent.slice(1).toLowerCase() : undefined
  const [found, setFound] = useState<Shades>()
  useEffect(() => {
    if (hex === undefined) return setFound(undefined)
    const stop = new AbortController()
    const load = async () => {
      const answer = await fetch(`/console/assets/accent-${hex}.css`, { signal: stop.signal })
      const sheet = await new CSSStyleSheet().replace(answer.ok ? await answer.text() : '')
      const style = (sheet.cssRules[0] as CSSStyleRule | undefined)?.style
      if (style === undefined || stop.signal.aborted) return
      setFound({ fill: style.getPropertyValue('--accent'), text: style.getPropertyValue('--on-accent') })
    }
    // Without an answer the preview stays as it is; the service decides about the colour anyway.
    load().catch(() => {})
    return () => stop.abort()
  }, [hex])
  return found
}
