import type { ProblemCode } from '@countersign/core/contract'

/** What a person can do who meets a problem while signing in, and where. */
export interface Advice {
  readonly text: string
  readonly button: { readonly label: string; readonly url: string }
}

const wallet = { label: 'Open your wallet', url: '/wallet' }
const help = { label: 'Help with signing in', url: '/docs/guides/for-users' }
const console = { label: 'Open the console', url: '/console' }

const again: Advice = {
  text: 'Sign-ins last 10 minutes and work once. Go back to the site and start again.',
  button: help,
}
const damaged: Advice = {
  text: 'Your credential is damaged or was changed. Get a fresh copy from where you downloaded it, or ask the site for a new invitation.',
  button: wallet,
}
const wait: Advice = {
  text: 'Nothing is wrong with your access. Wait a moment, then try again.',
  button: help,
}
const inConsole: Advice = { text: 'Sign in to the console again, then repeat what you did.', button: console }
const byRole: Advice = {
  text: 'Your role in the console does not include this. Ask an operator for it.',
  button: console,
}

/** For problems that only software can solve. */
const elsewhere: Advice = {
  text: 'You cannot fix this yourself: it is between the app and this service. Go back and try once more. If it happens again, give the support of the app this code.',
  button: help,
}

const advice: Readonly<Partial<Record<ProblemCode, Advice>>> = {
  state_invalid: again,
  callback_invalid: again,
  code_invalid: {
    text: 'The link or the sign-in has expired or was used before. Go back to the site and start again, or ask it for a new invitation.',
    button: help,
  },
  credential_malformed: damaged,
  credential_unsupported: damaged,
  credential_signature_invalid: damaged,
  credential_missing: {
    text: 'This page needs your access. Go back to the site and sign in again.',
    button: wallet,
  },
  credential_not_yet_valid: {
    text: 'Your access starts later, or the clock of your device is wrong. Check the clock, then try again.',
    button: wallet,
  },
  credential_expired: {
    text: 'Your access has expired. Ask the site for a new invitation and open it in this browser.',
    button: wallet,
  },
  credential_revoked: {
    text: 'Your access was ended, by the site or by you. It cannot be used again. If you need access, ask the site for a new invitation.',
    button: wallet,
  },
  issuer_untrusted: {
    text: 'The site does not accept access from this issuer. Ask the site for an invitation of its own.',
    button: wallet,
  },
  site_mismatch: {
    text: 'This access is for another site. Choose the access that names the site you are signing in to.',
    button: wallet,
  },
  scope_insufficient: {
    text: 'Your access does not include what you tried. Ask the site for more, or use another access.',
    button: wallet,
  },
  csrf_invalid: { text: 'The page was open for too long. Reload it, then try again.', button: help },
  origin_forbidden: { text: 'Open the page of the site directly, then try again.', button: help },
  not_found: {
    text: 'The address is wrong, or the page was removed. Check the link that you followed.',
    button: help,
  },
  redirect_not_allowed: {
    text: 'The site has a mistake in its sign-in link. Please report it to the site.',
    button: help,
  },
  rate_limited: { text: 'Too many attempts. Wait a minute, then try again.', button: help },
  internal_error: wait,
  store_unavailable: wait,
  revocation_view_stale: wait,
  overloaded: wait,
  link_invalid: {
    text: 'The link to the console has expired or was used before. Request a new one.',
    button: console,
  },
  passkey_invalid: inConsole,
  passkey_unavailable: inConsole,
  session_required: inConsole,
  step_up_required: inConsole,
  sign_in_forbidden: {
    text: 'Your account has no access to the console. Ask an operator for it, then sign in again.',
    button: console,
  },
  role_insufficient: byRole,
  own_access: byRole,
  provider_unavailable: {
    text: 'Your identity provider does not respond. Try again later, or sign in with a passkey or a link.',
    button: console,
  },
}

/** Advice for a person. Every code has some. */
export function findAdvice(code: ProblemCode): Advice {
  return advice[code] ?? elsewhere
}
