/**
 * All texts of the sign-in, wallet and error pages and of their scripts. A translation is another
 * object of this type. Placeholders such as `{site}` may appear anywhere in a text.
 */
export interface Messages {
  readonly lang: string
  readonly dir: 'ltr' | 'rtl'
  readonly common: Readonly<Record<keyof typeof english.common, string>>
  readonly signIn: Readonly<Record<keyof typeof english.signIn, string>>
  readonly wallet: Readonly<Record<keyof typeof english.wallet, string>>
  readonly error: Readonly<Record<keyof typeof english.error, string>>
  /** What a scope allows, by its last word; `{what}` is the rest of it. */
  readonly verbs: Readonly<Record<string, string>>
  /**
   * By the code of the problem: what happened, and what to do next. Other codes have the texts of
   * the API.
   */
  readonly problems: Readonly<Record<string, { readonly title: string; readonly next: string } | undefined>>
}

const english = {
  common: {
    product: 'Countersign',
    skip: 'Skip to content',
    code: 'Code',
    requestId: 'Request id',
    noAnswer: 'The service did not answer.',
    noAnswerNext: 'Nothing was lost. Check your connection and try again.',
    tooSlow: 'The service did not answer in time.',
    tooSlowNext: 'Nothing was lost. Try again.',
    again: 'Try again',
    stillWorking: 'Still working. This takes longer than usual.',
    backTo: 'Back to {site}',
    reload: 'Reload this page',
    slowPage: 'This page is taking long to get ready.',
    tooOld: 'This browser cannot keep keys.',
    tooOldNext: 'Use an up-to-date browser. It must support Ed25519 signatures.',
    noStorage: 'This browser does not allow this page to save anything.',
    noStorageNext: 'Leave private browsing, or allow site data for this address, and reload the page.',
    until: 'Valid until {time}',
    ended: 'Expired {time}',
    since: 'In this browser since {time}',
  },
  signIn: {
    title: 'Sign in to {site}',
    asks: '{site} asks who you are. You will go back to {host}.',
    mayLead: 'It asks for a credential that lets you',
    mayAll: 'It accepts whatever your credential allows.',
    learns:
      'It sees an ID for you that is made only for this site, what you are allowed to do there, and when your access expires. Your credential itself is not passed on.',
    choose: 'Choose a credential',
    looking: 'Looking for your credentials …',
    nothingHere: 'You have no credential for {site} in this browser yet.',
    nothingHereNext:
      'Ask {site} for an invitation link and open it in this browser, or use a credential that you have as a file or as text.',
    another: 'Use another credential',
    file: 'Credential file',
    fileHint: 'This page reads the file and sends only the credential.',
    paste: 'Or paste the credential',
    pasteHint: 'JSON, or the text of the header X-Service-Credential.',
    pasteOnly: 'Paste the credential',
    noScript:
      'Without JavaScript you can use only credentials that are not bound to a key. Open a credential file in an editor and paste its text.',
    submit: 'Continue',
    cancel: 'Cancel and go back',
    busy: 'Signing you in …',
    triesLeft: 'You can try another credential. {count} tries are left.',
    triesFew: 'Only {count} tries are left. After that, you have to start again from {site}.',
    triesLast: 'This is your last try. After that, you have to start again from {site}.',
    triesUsed: 'All tries of this sign-in have been used',
    triesUsedNext: 'For your security, a sign-in allows ten tries. Go back to the site and start again.',
    siteMismatch: 'This credential is for {other}, not for {site}.',
    siteMismatchNext: 'Choose the one that {site} gave you.',
    expired: 'This credential expired {time}.',
    expiredNext: 'Ask {site} for a new one.',
    notYet: 'This credential is not valid before {time}.',
    notYetNext: 'Come back then, or use another one.',
    scopeMissing: 'This credential does not allow you to: {missing}.',
    scopeMissingNext: 'Ask {site} for one that does, or use another one.',
    keyElsewhere: 'This credential is bound to a key that this browser does not have.',
    keyElsewhereNext:
      'Use it in the browser that claimed it, or ask {site} for an invitation link for this one.',
    revoked: 'This credential was revoked.',
    revokedNext: 'It is never valid again. Ask {site} for a new one if you think that this is a mistake.',
    unreadable: 'This is not a credential that can be read.',
    unreadableNext: 'Use the whole file or the whole text, exactly as you got it.',
    nothingChosen: 'You have not chosen a credential.',
    nothingChosenNext: 'Choose one from the list, choose a file, or paste one.',
    fits: 'You can use this credential.',
  },
  wallet: {
    title: 'Your wallet',
    lead: 'The credentials that this browser keeps for you. Each one has its own key, which only this browser can use.',
    noScript: 'The wallet needs JavaScript to keep its keys. Allow it for this address and reload the page.',
    empty: 'No credentials yet',
    emptyNext: 'A site that wants to give you access sends you an invitation link. Open it in this browser.',
    list: 'Credentials',
    offerLoading: 'You are invited',
    offerLooking: 'Looking up the invitation …',
    offerTitle: '{site} is inviting you',
    offerSite: 'Site',
    offerMay: 'You will be able to',
    offerFor: 'Valid for',
    offerIssuer: 'Issued by',
    offerUntil: 'Invitation expires',
    offerLead:
      'If you accept, this browser makes a new key, and the credential is bound to it: it works only in this browser. If you did not expect this invitation, choose “Not now”.',
    accept: 'Accept',
    later: 'Not now',
    laterDone: 'You have not accepted the invitation.',
    laterDoneNext: 'You can open the link again until {time}.',
    accepting: 'Adding it to this browser …',
    resuming: 'Finishing what you accepted …',
    accepted: 'The credential for {site} is in your wallet.',
    notKept: 'This browser could not save the credential.',
    notKeptNext:
      'Nothing was lost. Free some storage space or leave private browsing, and try again until {time}.',
    notKeptYet: 'This browser could not save the new key.',
    notKeptYetNext:
      'The invitation has not been used. Free some storage space or leave private browsing, and try again.',
    notRead: 'This browser could not read your wallet.',
    notReadNext: 'Reload the page. If that does not help, restart the browser.',
    may: 'You can',
    id: 'Credential',
    credential: 'credential ending in {end}',
    statusChecking: 'Checking …',
    statusActive: 'Active',
    statusRevoked: 'Revoked',
    statusExpired: 'Expired',
    statusUnknown: 'Not recognized',
    statusUnreachable: 'Can’t check right now',
    use: 'Choose it when {site} asks you to sign in.',
    remove: 'Delete from this browser',
    removeTitle: 'Delete this credential?',
    removeWarning:
      'The credential for {site} and its key are deleted from this browser. There is no copy: to sign in again you need a new invitation link. Your access itself is not revoked.',
    removeConfirm: 'Delete',
    removed: 'The credential for {site} has been deleted from this browser.',
    notRemoved: 'This browser could not delete the credential.',
    revoke: 'Revoke my access',
    revokeTitle: 'Revoke your access to {site}?',
    revokeWarning:
      'Your access to {site} ends immediately, on every device and in every session. This covers all credentials that you have for {site}. You cannot undo it. Only {site} can give you access again.',
    revokeConfirm: 'Revoke my access',
    revoking: 'Revoking your access …',
    revoked: 'Your access to {site} has been revoked.',
    keep: 'Keep it',
    keysTitle: 'About the keys',
    keys: 'Your keys never leave this browser: neither this page nor the service can read them. That is why nothing can be exported or moved to another device. On another device, accept an invitation there. Deleting the site data of this address deletes the wallet.',
  },
  error: {
    title: 'Something went wrong',
    start: 'Start page',
    wallet: 'Your wallet',
    guide: 'Help',
    help: 'If you ask for help, pass on these two lines. They contain no secrets.',
    console: 'Sign-in to the console',
    toConsole: 'Back to the sign-in page',
  },
} as const

export const messages: Messages = {
  lang: 'en',
  dir: 'ltr',
  ...english,
  verbs: {
    read: 'View {what}',
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
      title: 'This sign-in is no longer valid',
      next: 'Go back to the site and start again. A sign-in lasts ten minutes, works once, and only in the browser that opened it.',
    },
    callback_invalid: {
      title: 'This sign-in could not be completed',
      next: 'Go back to the site and start the sign-in again.',
    },
    redirect_not_allowed: {
      title: 'The site sent you here with a wrong return address',
      next: 'Nothing has been sent to it. Please report it to the site: only the site can fix this.',
    },
    site_unknown: {
      title: 'This site is not known here',
      next: 'Check where the link came from, or report it to the site.',
    },
    csrf_invalid: {
      title: 'This request did not come from our own page',
      next: 'Go back, reload the page and try again.',
    },
    rate_limited: { title: 'Too many attempts', next: 'Wait a few seconds and try again.' },
    store_unavailable: { title: 'The service cannot answer right now', next: 'Wait a moment and try again.' },
    revocation_view_stale: {
      title: 'The service cannot answer right now',
      next: 'Wait a moment and try again.',
    },
    overloaded: { title: 'The service is very busy', next: 'Wait a moment and try again.' },
    internal_error: {
      title: 'Something went wrong here',
      next: 'Try again. If it happens again, report it to the operator.',
    },
    not_found: {
      title: 'There is no page at this address',
      next: 'Check the address, or start again from the site that sent you here.',
    },
    method_not_allowed: {
      title: 'There is no page at this address',
      next: 'Start again from the site that sent you here.',
    },
    validation_failed: {
      title: 'The link is not complete',
      next: 'Start again from the site. If that does not help, report it to the site.',
    },
    request_malformed: {
      title: 'The link is not complete',
      next: 'Start again from the site. If that does not help, report it to the site.',
    },
    request_too_large: {
      title: 'This is too long for a credential',
      next: 'Use the credential alone, without any other text.',
    },
    credential_malformed: {
      title: 'This is not a credential that can be read',
      next: 'Use the whole text, exactly as you got it.',
    },
    credential_unsupported: {
      title: 'This kind of credential is not supported',
      next: 'Ask the site which kind it accepts.',
    },
    delegation_too_deep: {
      title: 'This credential was delegated too often',
      next: 'Use the one that you got first.',
    },
    delegation_invalid: {
      title: 'This credential was not delegated correctly',
      next: 'Ask the person who gave it to you for another one.',
    },
    issuer_untrusted: {
      title: 'The site does not trust the issuer of this credential',
      next: 'Use the one that the site gave you.',
    },
    credential_signature_invalid: {
      title: 'This credential has been altered or is damaged',
      next: 'Get a fresh copy from where you got it.',
    },
    credential_not_yet_valid: {
      title: 'This credential is not valid yet',
      next: 'Try again later, or use another one.',
    },
    credential_expired: { title: 'This credential has expired', next: 'Ask the site for a new one.' },
    credential_revoked: {
      title: 'This access has been revoked',
      next: 'Ask the site if you think that this is a mistake.',
    },
    proof_required: {
      title: 'This credential is bound to a key',
      next: 'Use it in the browser that claimed it, with JavaScript, or ask the site for an invitation link.',
    },
    proof_invalid: {
      title: 'Your browser could not prove that the credential is yours',
      next: 'Check that the clock of your device is right, reload the page and try again.',
    },
    proof_replayed: { title: 'This was sent before', next: 'Try again.' },
    site_mismatch: {
      title: 'This credential is for another site',
      next: 'Use the one that this site gave you.',
    },
    scope_insufficient: {
      title: 'This credential does not allow what the site asks for',
      next: 'Ask the site for one that does, or use another one.',
    },
    code_invalid: {
      title: 'This invitation is no longer valid',
      next: 'It works once, for fifteen minutes. Ask the site for a new link.',
    },
    key_rejected: {
      title: 'The key of this browser was not accepted',
      next: 'Reload the page and try again.',
    },
    revocation_forbidden: {
      title: 'This credential cannot revoke your access',
      next: 'Ask the site to do it.',
    },
  },
}
