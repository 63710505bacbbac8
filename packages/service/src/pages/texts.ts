/**
 * Every word of the sign-in, wallet and error pages, also those that their scripts show: a translation is another object of this shape. `{…}` is
 * filled in; what stands beside it may change its order.
 */
export interface Texts {
  readonly lang: string
  readonly dir: 'ltr' | 'rtl'
  readonly common: Readonly<Record<keyof typeof english.common, string>>
  readonly signIn: Readonly<Record<keyof typeof english.signIn, string>>
  readonly wallet: Readonly<Record<keyof typeof english.wallet, string>>
  readonly error: Readonly<Record<keyof typeof english.error, string>>
  /** What a scope lets somebody do, by its last word; `{what}` is the rest of it. */
  readonly verbs: Readonly<Record<string, string>>
  /** By the code of the refusal: what happened, and what to do next. Codes that are not here have the words of the API. */
  readonly problems: Readonly<Record<string, { readonly title: string; readonly next: string } | undefined>>
}

const english = {
  common: {
    product: 'Countersign',
    skip: 'Skip to the content',
    code: 'Code',
    requestId: 'Request id',
    wallet: 'Wallet',
    documentation: 'What this code means',
    noAnswer: 'The service did not answer.',
    noAnswerNext: 'Check your connection and try again.',
    tooOld: 'This browser cannot keep keys.',
    tooOldNext: 'Use an up-to-date browser: it has to know Ed25519 signatures.',
    noStorage: 'This browser does not let this page keep anything.',
    noStorageNext: 'Leave private browsing, or allow site data for this address, and reload the page.',
    until: 'Valid until {time}',
    ended: 'Ended {time}',
    since: 'In this browser since {time}',
  },
  signIn: {
    title: 'Sign in to {site}',
    asks: '{site} asks who you are. You will go back to {host}.',
    mayLead: 'It asks for a credential that lets you',
    mayAll: 'It takes whatever your credential for it allows.',
    learns:
      'It learns a name for you that is used there and nowhere else, what you may do there, and how long your credential is valid. The credential itself is not passed on.',
    choose: 'Which credential?',
    inBrowser: 'Kept in this browser',
    nothingHere: 'This browser keeps no credential for {site}.',
    nothingHereNext: 'Ask {site} for a claim link, or use a credential that you have as a file or as text.',
    another: 'Use another credential',
    file: 'Credential file',
    fileHint: 'The file is read by this page and only what it holds is sent.',
    paste: 'Or paste the credential',
    pasteHint: 'JSON, or the text that goes into the header X-Service-Credential.',
    pasteOnly: 'Paste the credential',
    noScript:
      'Without JavaScript only credentials that are not bound to a key can be used here. Open a credential file in an editor and paste its text.',
    submit: 'Continue',
    cancel: 'Cancel and go back',
    busy: 'One moment …',
    tries: 'You can try another credential.',
    siteMismatch: 'This credential is for {other}, not for {site}.',
    siteMismatchNext: 'Choose the one that {site} gave you.',
    expired: 'This credential ended {time}.',
    expiredNext: 'Ask {site} for a new one.',
    notYet: 'This credential counts from {time} on.',
    notYetNext: 'Come back then, or use another one.',
    scopeMissing: 'This credential does not let you: {missing}.',
    scopeMissingNext: 'Ask {site} for one that does, or use another one.',
    keyElsewhere: 'This credential is bound to a key that this browser does not have.',
    keyElsewhereNext: 'Use it in the browser that claimed it, or ask {site} for a claim link for this one.',
    unreadable: 'This is not a credential that can be read.',
    unreadableNext: 'Take the whole file or the whole text, exactly as you got it.',
    nothingChosen: 'No credential has been chosen.',
    nothingChosenNext: 'Choose one of the list, a file, or paste one.',
    fits: 'This credential fits.',
  },
  wallet: {
    title: 'Your wallet',
    lead: 'The credentials that this browser keeps for you. Each one has a key of its own, which only this browser can use.',
    noScript: 'The wallet keeps its keys with the help of JavaScript. Allow it for this address and reload the page.',
    empty: 'There is nothing here yet.',
    emptyNext: 'A site that wants to give you a credential sends you a claim link. Open it in this browser.',
    list: 'Credentials',
    offerTitle: 'You have been offered a credential',
    offerLead:
      'If you accept, this browser makes a new key and the credential is bound to it: nobody can use it without this browser. The offer can be accepted once.',
    accept: 'Accept',
    later: 'Not now',
    accepting: 'Making a key …',
    accepted: 'The credential for {site} is in your wallet.',
    may: 'Lets you',
    id: 'Credential',
    statusChecking: 'Checking …',
    statusActive: 'Active',
    statusRevoked: 'Revoked',
    statusExpired: 'Ended',
    statusUnknown: 'Unknown here',
    statusUnreachable: 'Could not be checked',
    use: 'It is offered to you when {site} asks you to sign in.',
    remove: 'Delete from this browser',
    removeTitle: 'Delete this credential?',
    removeWarning:
      'The credential for {site} and its key are deleted from this browser. There is no copy: to get in again you need a new claim link. Your access itself is not revoked.',
    removeConfirm: 'Delete',
    removed: 'The credential for {site} has been deleted from this browser.',
    revoke: 'Revoke my access',
    revokeTitle: 'Revoke your access to {site}?',
    revokeWarning:
      'This ends your access to {site} at once, with this credential and every other one you have for it, on every device, and whatever was signed in with them. You cannot undo it: only {site} can let you in again.',
    revokeConfirm: 'Revoke my access',
    revoked: 'Your access to {site} has been revoked.',
    keep: 'Keep it',
    keysTitle: 'About the keys',
    keys: 'A key is made in this browser and marked as not extractable: neither this page nor the service can read it. That is why nothing can be exported or moved to another device, by design. On another device, claim a credential there. Deleting the site data of this address deletes the wallet.',
  },
  error: {
    title: 'This did not work',
    what: 'What to do',
    help: 'If you ask somebody for help, give them these two lines.',
  },
} as const

export const texts: Texts = {
  lang: 'en',
  dir: 'ltr',
  ...english,
  verbs: {
    read: 'See {what}',
    list: 'List {what}',
    write: 'Change {what}',
    create: 'Add {what}',
    delete: 'Delete {what}',
    admin: 'Manage {what}',
    manage: 'Manage {what}',
    send: 'Send {what}',
    use: 'Use {what}',
  },
  problems: {
    state_invalid: {
      title: 'This sign-in is over, or belongs to another browser',
      next: 'Go back to the site and start again. A sign-in takes ten minutes at most, works once, and only in the browser that opened it.',
    },
    callback_invalid: {
      title: 'The way back took too long',
      next: 'Go back to the site and start the sign-in again.',
    },
    redirect_not_allowed: {
      title: 'The site sent you here with a wrong return address',
      next: 'Nothing has been sent to it. Tell the site; there is nothing that you can do about it here.',
    },
    site_unknown: { title: 'This site is not known here', next: 'Check where the link came from, or tell the site.' },
    csrf_invalid: { title: 'This did not come from our own page', next: 'Go back, reload the page and try again.' },
    rate_limited: { title: 'Too many tries from your network', next: 'Wait a few seconds and try again.' },
    store_unavailable: { title: 'The service cannot answer just now', next: 'Wait a moment and try again.' },
    revocation_view_stale: { title: 'The service cannot answer just now', next: 'Wait a moment and try again.' },
    overloaded: { title: 'The service is very busy', next: 'Wait a moment and try again.' },
    internal_error: { title: 'Something went wrong here', next: 'Try again. If it happens again, tell the operator.' },
    not_found: { title: 'There is nothing here', next: 'Check the address, or start again from the site.' },
    method_not_allowed: { title: 'There is nothing here', next: 'Start again from the site.' },
    validation_failed: { title: 'The link is not complete', next: 'Start again from the site, and tell it if that does not help.' },
    request_malformed: { title: 'The link is not complete', next: 'Start again from the site, and tell it if that does not help.' },
    request_too_large: { title: 'This is too long for a credential', next: 'Take the credential alone, without anything around it.' },
    credential_malformed: { title: 'This is not a credential that can be read', next: 'Take the whole text, exactly as you got it.' },
    credential_unsupported: { title: 'This kind of credential is not taken here', next: 'Ask the site which one it takes.' },
    delegation_too_deep: { title: 'This credential was handed on too often', next: 'Use the one that you got first.' },
    delegation_invalid: {
      title: 'This credential was not handed on as it should be',
      next: 'Ask whoever handed it to you for another one.',
    },
    issuer_untrusted: { title: 'The site does not trust whoever issued this credential', next: 'Use the one that the site gave you.' },
    credential_signature_invalid: { title: 'This credential has been changed or damaged', next: 'Take it again from where you got it.' },
    credential_not_yet_valid: { title: 'This credential does not count yet', next: 'Try again later, or use another one.' },
    credential_expired: { title: 'This credential has ended', next: 'Ask the site for a new one.' },
    credential_revoked: { title: 'This access has been revoked', next: 'Ask the site if you think that this is a mistake.' },
    proof_required: {
      title: 'This credential is bound to a key',
      next: 'Use it in the browser that claimed it, with JavaScript, or ask the site for a claim link.',
    },
    proof_invalid: {
      title: 'Your browser could not prove that the credential is yours',
      next: 'Check that the clock of your device is right, reload the page and try again.',
    },
    proof_replayed: { title: 'This was sent before', next: 'Try again.' },
    site_mismatch: { title: 'This credential is for another site', next: 'Use the one that this site gave you.' },
    scope_insufficient: {
      title: 'This credential does not allow what the site asks for',
      next: 'Ask the site for one that does, or use another one.',
    },
    code_invalid: { title: 'This offer is over', next: 'It works once and for fifteen minutes. Ask the site for a new link.' },
    key_rejected: { title: 'The key of this browser was not accepted', next: 'Reload the page and try again.' },
    revocation_forbidden: { title: 'This credential cannot revoke your access', next: 'Ask the site to do it.' },
  },
}
