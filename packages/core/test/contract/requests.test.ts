import { describe, expect, test } from 'vitest'
import type * as z from 'zod'
import { type EndpointId, endpointList, endpoints } from '../../src/contract/endpoints.ts'
import { bodies, CREDENTIAL_ID, EPOCH, MULTIKEY, PPID, queries, RANDOM } from '../../src/contract/examples.ts'
import type { ProblemCode } from '../../src/contract/problems.ts'
import { toValidationProblem } from '../../src/contract/validation.ts'
import { hostileLinks, hostileMails } from './hostile-links.ts'

type Spoiled = [id: EndpointId, member: string, values: unknown[], code?: ProblemCode]

const findSchema = (id: EndpointId, part: 'body' | 'query'): z.ZodType => {
  const schema = endpointList.find((one) => one.id === id)?.request[part]
  if (schema === undefined) throw new Error(`${id} has no ${part}`)
  return schema
}

function findProblem(id: EndpointId, part: 'body' | 'query', value: unknown) {
  const { error } = findSchema(id, part).safeParse(value)
  return error && toValidationProblem(error, part)
}

const not = {
  string: [7, null, {}, ['x'], true],
  line: ['a\nb', 'a\u0000b', '\u001b[31m', '\u202Ecod', '\ud800'],
}
const bad = {
  site_id: [
    '',
    'Shop.Example',
    'shop.example.',
    'shop.example:443',
    'https://shop.example',
    '*.example',
    '-a.example',
    'a..b',
    'é.example',
    'a\u0000b',
    ...not.string,
  ],
  ppid: [
    '',
    'did:service:ppid_',
    'did:service:ppid_short',
    'did:service:ppid_../../x',
    `did:service:ppid_${'a'.repeat(129)}`,
    `${PPID}\n`,
    'ppid_aaaaaaaaaaaa',
    ...not.string,
  ],
  scope: [
    [],
    ['*'],
    ['ORDERS:READ'],
    ['a b'],
    ['a', 'a'],
    [7],
    [''],
    ['x'.repeat(129)],
    Array.from({ length: 33 }, (_, i) => `s${i}`),
    'orders:read',
    null,
  ],
  ttl: [0, -1, 1.5, '300', 1e9, null, true, [300], {}, Number.NaN],
  reason: ['x'.repeat(257), ...not.line, ...not.string],
  permission_id: ['', 'a b', 'x'.repeat(65), 'é', ...not.string],
  holder_key: ['', 'did:key:', 'did:web:holder.example', MULTIKEY, `did:key:m${MULTIKEY.slice(1)}`],
  opaque: [
    '',
    'A'.repeat(42),
    'A'.repeat(44),
    `${'A'.repeat(42)}B`,
    `${'A'.repeat(42)}+`,
    'a\u0000b',
    "' OR 1=1 --",
  ],
  seconds: [0, -1, 1.5, '60', null, 367 * 86_400, Number.POSITIVE_INFINITY],
  url: [
    'http://app.example/cb',
    'https://app.example/cb#x',
    'javascript:alert(1)',
    'https://a@app.example/',
    'a\u0000b',
    '',
  ],
}

const spoiled: Spoiled[] = [
  ['protected_action', 'action', ['x'.repeat(257), 7, {}, ['x'], ...not.line]],
  ['exchange_proof', 'credential', ['eyJ4IjoxfQ', null, 7, [], [{}], true], 'credential_malformed'],
  ['exchange_proof', 'site_id', bad.site_id],
  ['exchange_proof', 'requested_scope', bad.scope],
  ['exchange_proof', 'ttl_seconds', [...bad.ttl, 59, 3601], 'ttl_out_of_range'],
  ['introspect', 'token', ['', ...not.string]],
  ['introspect', 'token_type_hint', not.string],
  ['introspect', 'site_id', bad.site_id],
  [
    'introspect',
    'nonce',
    [
      '',
      'A'.repeat(21),
      'A'.repeat(23),
      `${'A'.repeat(21)}B`,
      `${'A'.repeat(21)}=`,
      `${'A'.repeat(20)}+A`,
      ...not.string,
    ],
  ],
  ['revoke_token', 'token', ['', ...not.string]],
  ['revoke_token', 'reason', bad.reason],
  ['revoke_user', 'ppid', bad.ppid],
  ['revoke_user', 'site_id', bad.site_id],
  ['revoke_user', 'reason', bad.reason],
  [
    'revoke_credential',
    'credential_id',
    ['', 'cred_x', `cred_${'a'.repeat(65)}`, 'did:service:cred_aaaaaaaa', 'cred_aaaaaaaa\n', ...not.string],
  ],
  ['revoke_credential', 'site_id', bad.site_id],
  ['revoke_credential', 'reason', bad.reason],
  ['reinstate_user', 'ppid', bad.ppid],
  ['reinstate_user', 'site_id', bad.site_id],
  ['reinstate_user', 'reason', bad.reason],
  ['sign_out_user', 'ppid', bad.ppid],
  ['sign_out_user', 'site_id', bad.site_id],
  ['sign_out_user', 'reason', bad.reason],
  ['resolve_user', 'user_ref', ['', 'x'.repeat(257), ...not.line, ...not.string]],
  ['erase_user', 'user_ref', ['', 'x'.repeat(257), ...not.line, ...not.string]],
  ['erase_user', 'dry_run', ['true', 1, null]],
  ['revoke_token_by_id', 'reason', bad.reason],
  ['revoke_targets', 'reason', bad.reason],
  [
    'preview',
    'act',
    [
      null,
      {},
      { type: 'unknown' },
      { type: 'revoke_user' },
      { type: 'revoke_user', ppid: PPID, user_ref: 'alice' },
      { type: 'revoke_credential', credential_id: 'x' },
      { type: 'cut_off_site', confirm: 'shop.example' },
      { type: 'change_site', bearer: 'on' },
      { type: 'revoke_targets', targets: [] },
    ],
  ],
  [
    'revoke_targets',
    'targets',
    [
      [],
      [{}],
      [PPID],
      null,
      { ppid: PPID },
      [{ ppid: 'alice' }],
      [{ ppid: PPID, token_id: 'tok_1' }],
      [{ credential_id: CREDENTIAL_ID, token_id: 'tok_1' }],
      [{ issuer: 'https://idp.example' }],
      [{ issuer: 'https://idp.example', subject: 'bob', credential_id: CREDENTIAL_ID }],
      [{ ppid: PPID, user_ref: 'alice' }],
      Array.from({ length: 201 }, () => ({ ppid: PPID })),
    ],
  ],
  ['revoke_holder', 'holder_key', bad.holder_key, 'key_rejected'],
  ['revoke_holder', 'holder_key', not.string],
  ['revoke_holder', 'reason', bad.reason],
  ['start_drill', 'reason', bad.reason],
  ['cut_off_issuer', 'issuer', ['', 'x'.repeat(1025), ...not.string]],
  ['cut_off_issuer', 'reason', bad.reason],
  ['cut_off_site', 'confirm', bad.site_id],
  ['cut_off_site', 'reason', bad.reason],
  ['receive_token_revocation', 'sub_id', [null, 'alice', 7, []]],
  ['issue_credential', 'site_id', bad.site_id],
  ['issue_credential', 'user_ref', ['', 'x'.repeat(257), ...not.line, ...not.string]],
  ['issue_credential', 'ppid', [PPID]],
  ['issue_credential', 'scope', bad.scope],
  ['issue_credential', 'permission_id', bad.permission_id],
  ['issue_credential', 'ttl_seconds', [...bad.ttl, 366 * 86_400 + 1], 'ttl_out_of_range'],
  ['issue_credential', 'holder_key', bad.holder_key, 'key_rejected'],
  ['issue_credential', 'holder_key', not.string],
  ['create_offer', 'ppid', bad.ppid],
  ['create_offer', 'user_ref', ['user-7']],
  ['create_offer', 'scope', bad.scope],
  ['create_offer', 'permission_id', bad.permission_id],
  ['create_offer', 'ttl_seconds', bad.ttl, 'ttl_out_of_range'],
  ['create_offer', 'holder_key', [`did:key:${MULTIKEY}`]],
  ['read_offer', 'offer', bad.opaque, 'code_invalid'],
  ['read_offer', 'offer', not.string],
  ['claim_offer', 'offer', bad.opaque, 'code_invalid'],
  ['claim_offer', 'offer', not.string],
  ['claim_offer', 'holder_key', bad.holder_key, 'key_rejected'],
  ['start_sign_in', 'site_id', bad.site_id],
  ['start_sign_in', 'return_url', bad.url, 'redirect_not_allowed'],
  ['start_sign_in', 'return_url', not.string],
  ['start_sign_in', 'requested_scope', bad.scope],
  ['start_sign_in', 'client_state', ['x'.repeat(513), ...not.line, ...not.string]],
  ['start_sign_in', 'code_challenge', [...bad.opaque, ...not.string]],
  ['start_sign_in', 'code_challenge_method', ['plain', 's256', '', ...not.string]],
  ['present', 'state', bad.opaque, 'state_invalid'],
  ['present', 'credential', ['x', null, []], 'credential_malformed'],
  ['sign_in_result', 'code', bad.opaque, 'code_invalid'],
  [
    'sign_in_result',
    'code_verifier',
    ['', 'v'.repeat(42), 'v'.repeat(129), 'a b'.repeat(20)],
    'code_invalid',
  ],
  [
    'report_verdicts',
    'tallies',
    [
      [],
      [{ presented: 'cookie', outcome: 'allowed', count: 1 }],
      [{ presented: 'bearer', outcome: 'A B', count: 1 }],
      [{ presented: 'bearer', outcome: 'allowed', count: 0 }],
      [{ presented: 'bearer', outcome: 'allowed', count: 10_000_001 }],
      Array.from({ length: 65 }, () => ({ presented: 'bearer', outcome: 'allowed', count: 1 })),
    ],
  ],
  ['acknowledge', 'epoch', ['', 'short', 'UPPERCASE', 'x'.repeat(33), ...not.string]],
  ['acknowledge', 'seq', [-1, 1.5, '42', null, 2 ** 53]],
  ['acknowledge', 'sent_at', ['yesterday', 0, null]],
  ['acknowledge', 'closed', [false, 1, 'true', null]],
  ['create_site', 'site_id', bad.site_id],
  ['create_site', 'name', ['x'.repeat(129), ...not.line, ...not.string]],
  [
    'create_site',
    'return_urls',
    bad.url.map((url) => ['https://app.example/cb', url]),
    'redirect_not_allowed',
  ],
  [
    'create_site',
    'return_urls',
    [
      'https://app.example/cb',
      null,
      [7],
      ['https://a.example/', 'https://a.example/'],
      Array.from({ length: 33 }, (_, i) => `https://a.example/${i}`),
    ],
  ],
  [
    'create_site',
    'hosts',
    [
      'shop.example',
      null,
      [],
      [7],
      ...[
        'Shop.example',
        'https://shop.example',
        'shop.example:',
        'shop.example:0',
        'shop.example:65536',
        'shop.example:08',
      ].map((host) => [host]),
      ...['shop.example/x', 'shop.example:8e3', '[::1]:80', '*.shop.example', 'a:1:2', ''].map((host) => [
        host,
      ]),
      ['shop.example', 'shop.example'],
      Array.from({ length: 17 }, (_, i) => `h${i}.example`),
    ],
  ],
  ['create_site', 'bearer', ['ON', '', true, null]],
  ['create_site', 'holder_proof', ['never', true, null]],
  ['create_site', 'delegation', ['never', true, null]],
  ['create_site', 'credential_ttl_seconds_max', bad.seconds],
  ['change_site', 'name', ['x'.repeat(129), 7]],
  ['change_site', 'site_id', ['other.example']],
  ['change_site', 'return_urls', [['http://app.example/cb']], 'redirect_not_allowed'],
  ['change_site', 'hosts', [[], ['Shop.example'], 'shop.example']],
  ['change_site', 'bearer', ['maybe', null]],
  ['change_site', 'holder_proof', ['maybe', null]],
  ['change_site', 'delegation', ['maybe', null]],
  ['change_site', 'reason', bad.reason],
  ['change_site', 'credential_ttl_seconds_max', [0, 1.5, '60']],
  [
    'change_site',
    'logo_url',
    [
      '',
      'logo.png',
      'http://shop.example/logo.png',
      'https://user:pw@shop.example/logo.png',
      'https://shop.example:22/logo.png',
      'https://shop.example/logo.png#x',
      'data:image/png;base64,AAAA',
      'file:///etc/passwd',
      `https://shop.example/${'a'.repeat(2048)}`,
      7,
    ],
  ],
  ['create_site', 'logo_url', ['', 'logo.png', 'https://user:pw@shop.example/logo.png', null, 7]],
  ['create_site', 'accent', ['', 'red', '#fff', '#0a6448;', null, 7]],
  ['create_site', 'support_url', [...hostileLinks, ...hostileMails, null, 7]],
  ['create_site', 'privacy_url', [...hostileLinks, 'mailto:help@shop.example', null, 7]],
  ['change_site', 'accent', ['', 'red', '#fff', '0a6448', '#0a64489', '#0a6448;', '#0a644g', 7]],
  ['change_site', 'support_url', [...hostileLinks, ...hostileMails, 7]],
  ['change_site', 'privacy_url', [...hostileLinks, 'mailto:help@shop.example', 7]],
  ['create_site', 'max_staleness_seconds_max', [4, 3601, 5.5, '60', null]],
  ['change_site', 'max_staleness_seconds_max', [4, 3601, 5.5, '60', null]],
  [
    'add_issuer',
    'issuer',
    [
      '',
      'issuer',
      'did:example:x',
      'did:key:',
      'https://issuer.example',
      'did:web:a b',
      `did:web:${'a'.repeat(1024)}`,
      ...not.string,
    ],
  ],
  ['add_issuer', 'issuer', [`did:key:${MULTIKEY}`, 'did:jwk:eyJ4IjoxfQ']],
  ['add_issuer', 'keys', [['m6Mk'], ['z6Mk'], [''], [`${MULTIKEY}0`]], 'key_rejected'],
  ['add_issuer', 'keys', [[], MULTIKEY, null, [7], [MULTIKEY, MULTIKEY]]],
  ['add_issuer', 'scope', bad.scope],
  ['add_issuer', 'credential_ttl_seconds_max', bad.seconds],
  ['add_issuer', 'label', ['x'.repeat(65), ...not.line, ...not.string]],
  ['change_issuer', 'status', ['maybe', '', null]],
  ['change_issuer', 'keys', [['m6Mk']], 'key_rejected'],
  ['change_issuer', 'scope', [[], ['*'], 'orders:read']],
  ['change_issuer', 'credential_ttl_seconds_max', [0, '60']],
  ['change_issuer', 'label', ['x'.repeat(65), 7]],
  ['change_issuer', 'subject_claim', ['', 'a b', ...not.string]],
  ['change_issuer', 'confirm_new_ids', [false, 'true', 1, null]],
  ['change_issuer_key', 'status', ['trusted', '', null]],
  ['create_key', 'permissions', [[], ['everything'], ['feed:read', 'feed:read'], 'feed:read', null, [7]]],
  ['create_key', 'label', ['x'.repeat(65), ...not.line, ...not.string]],
  ['create_key', 'expires_in_seconds', [0, -1, 1.5, '60', null, 1e10]],
  ['create_person', 'name', ['', 'x'.repeat(65), ...not.line, ...not.string]],
  [
    'create_person',
    'roles',
    [
      null,
      'operator',
      [{ site_id: null, role: 'viewer' }],
      [{ site_id: 'shop.example', role: 'operator' }],
      [{ site_id: 'shop.example', role: 'root' }],
      [{ role: 'operator' }],
      [{ site_id: 'SHOP', role: 'viewer' }],
      [{ site_id: 'shop.example', role: 'viewer', permissions: ['site:admin'] }],
      [
        { site_id: 'shop.example', role: 'viewer' },
        { site_id: 'shop.example', role: 'admin' },
      ],
      Array.from({ length: 101 }, (_, i) => ({ site_id: `s${i}.example`, role: 'viewer' })),
    ],
  ],
  ['create_person', 'reason', bad.reason],
  ['change_person', 'name', ['', 'x'.repeat(65), ...not.line, ...not.string]],
  ['change_person', 'roles', [null, [{ site_id: null, role: 'admin' }]]],
  ['change_person', 'status', ['gone', '', null]],
  ['change_person', 'reason', bad.reason],
  ['create_key', 'reason', ['x'.repeat(257), ...not.line, ...not.string]],
  ['change_key', 'label', ['x'.repeat(65), ...not.line]],
  ['change_key', 'permissions', [['feed:read']]],
  ['create_operator_key', 'permissions', [['feed:read']]],
  ['create_operator_key', 'site_id', ['shop.example']],
  ['change_operator_key', 'label', ['x'.repeat(65), ...not.line]],
  ['create_operator_key', 'label', ['x'.repeat(65), ...not.line, ...not.string]],
  ['create_operator_key', 'expires_in_seconds', [0, -1, 1.5, '60', null, 1e10]],
  ['create_operator_key', 'reason', ['x'.repeat(257), ...not.line, ...not.string]],
  ['change_key', 'reason', ['x'.repeat(257), ...not.line, ...not.string]],
  ['change_issuer_key', 'reason', ['x'.repeat(257), ...not.line, ...not.string]],
  ['change_issuer', 'reason', ['x'.repeat(257), ...not.line, ...not.string]],
  ['create_webhook', 'reason', ['x'.repeat(257), ...not.line, ...not.string]],
  ['open_session', 'link', ['', 'x', 'A'.repeat(42), 'A'.repeat(44)], 'link_invalid'],
  ['open_session', 'link', not.string],
  ...(['open_session_with_passkey', 'step_up'] as const).flatMap((id): Spoiled[] =>
    ['credential_id', 'client_data', 'authenticator_data', 'signature', 'user_handle'].flatMap(
      (name): Spoiled[] => [
        [id, name, ['', 'a=', 'a+b', 'a'.repeat(8193)], 'passkey_invalid'],
        [id, name, not.string],
      ],
    ),
  ),
  ['add_passkey', 'name', ['', 'x'.repeat(257), ...not.line, ...not.string]],
  ['add_passkey', 'client_data', ['', 'a='], 'passkey_invalid'],
  ['add_passkey', 'attestation', ['', 'a=', 'a'.repeat(8193)], 'passkey_invalid'],
  ['rename_passkey', 'name', ['', ...not.line, ...not.string]],
  [
    'create_webhook',
    'url',
    [
      'http://hooks.example/',
      'https://hooks.example:22/',
      'https://u:p@hooks.example/',
      'ftp://hooks.example/',
      'hooks.example',
      '',
    ],
    'webhook_url_forbidden',
  ],
  ['create_webhook', 'url', not.string],
  [
    'change_webhook',
    'url',
    ['http://hooks.example/', 'https://hooks.example:22/', ''],
    'webhook_url_forbidden',
  ],
  ['change_webhook', 'kinds', [[], ['heartbeat'], ['user.revoked', 'user.revoked'], 'user.revoked']],
  ['change_webhook', 'status', ['disabled', 'off', '', null]],
  ['change_webhook', 'reason', ['x'.repeat(257), ...not.line, ...not.string]],
  ['recover_webhook', 'since', ['', 'yesterday', 0, null]],
  ['recover_webhook', 'deliveries', ['', 'pending', null]],
  ['recover_webhook', 'cursor', ['', 'a b'], 'cursor_malformed'],
  ['recover_webhook', 'reason', ['x'.repeat(257), ...not.line, ...not.string]],
  ['create_webhook', 'kinds', [[], ['heartbeat'], ['user.revoked', 'user.revoked'], 'user.revoked', null]],
]

const required: Partial<Record<EndpointId, string[]>> = {
  exchange_proof: ['credential'],
  introspect: ['token'],
  revoke_token: ['token'],
  revoke_user: ['ppid', 'site_id'],
  revoke_credential: ['credential_id', 'site_id'],
  reinstate_user: ['ppid', 'site_id'],
  sign_out_user: ['ppid', 'site_id'],
  resolve_user: ['user_ref'],
  erase_user: ['user_ref'],
  revoke_holder: ['holder_key'],
  revoke_targets: ['targets'],
  preview: ['act'],
  cut_off_issuer: ['issuer'],
  cut_off_site: ['confirm'],
  receive_token_revocation: ['sub_id'],
  issue_credential: ['site_id', 'user_ref', 'scope'],
  create_offer: ['site_id', 'ppid', 'scope'],
  read_offer: ['offer'],
  claim_offer: ['offer', 'holder_key'],
  start_sign_in: ['site_id', 'return_url', 'code_challenge', 'code_challenge_method'],
  present: ['state', 'credential'],
  sign_in_result: ['code', 'code_verifier'],
  report_verdicts: ['tallies'],
  acknowledge: ['epoch', 'seq'],
  create_site: ['site_id'],
  add_issuer: ['issuer'],
  change_issuer_key: ['status'],
  create_key: ['permissions'],
  change_key: ['label'],
  change_operator_key: ['label'],
  create_webhook: ['url'],
  create_person: ['name', 'roles'],
  recover_webhook: ['since'],
  open_session: ['link'],
  open_session_with_passkey: [
    'credential_id',
    'client_data',
    'authenticator_data',
    'signature',
    'user_handle',
  ],
  step_up: ['credential_id', 'client_data', 'authenticator_data', 'signature', 'user_handle'],
  add_passkey: ['name', 'client_data', 'attestation'],
  rename_passkey: ['name'],
}

const withBody = endpointList.filter(({ request }) => request.body !== undefined).map(({ id }) => id)

describe('request bodies', () => {
  test('have a good sample each', () => {
    expect(Object.keys(bodies).sort()).toEqual([...withBody].sort())
  })

  test.each(withBody)('%s takes a good body and gives it back unchanged', (id) => {
    expect(findSchema(id, 'body').parse(bodies[id])).toEqual(bodies[id])
  })

  /** Its format is a standard, which may add members. */
  const strict = withBody.filter((id) => id !== 'receive_token_revocation')
  test.each(strict)('%s rejects an unknown member and names it', (id) => {
    const problem = findProblem(id, 'body', { ...bodies[id], surprise: 1 })
    expect(problem?.code).toBe('validation_failed')
    expect(problem?.errors).toContainEqual({ path: 'surprise', message: 'is unknown' })
  })

  test.each(withBody)('%s rejects what is no object', (id) => {
    for (const value of [null, [], 'x', 7])
      expect(findProblem(id, 'body', value)?.code).toBe('validation_failed')
  })

  test.each(withBody)('%s wants exactly the members it must have', (id) => {
    for (const member of Object.keys(bodies[id] ?? {})) {
      const { [member]: _left, ...rest } = bodies[id] ?? {}
      const problem = findProblem(id, 'body', rest)
      if (!required[id]?.includes(member)) expect(problem, member).toBeUndefined()
      else
        expect(
          [
            problem?.code,
            problem?.errors.some(({ path }) => path === member || path === 'ppid' || path === 'user_ref'),
          ],
          member,
        ).toEqual(['validation_failed', true])
    }
  })

  test.each(spoiled)('%s rejects a spoiled %s', (id, member, values, code = 'validation_failed') => {
    for (const value of values) {
      const problem = findProblem(id, 'body', { ...bodies[id], [member]: value })
      expect(problem?.code, JSON.stringify(value)).toBe(code)
      for (const { path } of problem?.errors ?? [])
        expect(path, JSON.stringify(value)).toMatch(new RegExp(`^(?:${member}|keys|user_ref)(?:\\.|$)`))
    }
  })

  test('spoil every member of every body', () => {
    const done = new Set(spoiled.map(([id, member]) => `${id}.${member}`))
    const skipped = new Set(['create_offer.site_id', 'revoke_token.token_type_hint'])
    const missing = withBody
      .flatMap((id) => Object.keys(bodies[id] ?? {}).map((member) => `${id}.${member}`))
      .filter((name) => !done.has(name) && !skipped.has(name))
    expect(missing).toEqual([])
  })

  test('count a text by its characters up to the limit', () => {
    const { reason: _r, ...rest } = bodies.revoke_user as Record<string, unknown>
    expect(findProblem('revoke_user', 'body', { ...rest, reason: '' })).toBeUndefined()
    expect(findProblem('revoke_user', 'body', { ...rest, reason: '😀'.repeat(256) })).toBeUndefined()
    expect(
      findProblem('revoke_user', 'body', { ...rest, reason: '<script>alert(1)</script> " \' %s {{y}} #{x}' }),
    ).toBeUndefined()
  })

  test('take a lifetime at both ends of its range', () => {
    for (const ttl_seconds of [60, 3600])
      expect(findProblem('exchange_proof', 'body', { ...bodies.exchange_proof, ttl_seconds })).toBeUndefined()
    for (const ttl_seconds of [1, 366 * 86_400])
      expect(
        findProblem('issue_credential', 'body', { ...bodies.issue_credential, ttl_seconds }),
      ).toBeUndefined()
  })

  test('never take a token apart: what is no token is for the endpoint to call inactive', () => {
    for (const token of ["' OR 1=1 --", 'a\u0000b', '\ud800', 'x'.repeat(10_000)])
      expect(findProblem('introspect', 'body', { token })).toBeUndefined()
  })

  test('do not carry unknown form parameters on, and do not reject them', () => {
    const form = endpoints.introspect.request.form
    expect(form.parse({ token: 'x', audience: 'abc', client_name: 'def' })).toEqual({ token: 'x' })
    expect(form.safeParse({ client_id: 'abc' }).success).toBe(false)
    expect(form.parse({ token: 'x', nonce: 'q83vEjRWeJCrze8SNFZ4kA' })).toEqual({
      token: 'x',
      nonce: 'q83vEjRWeJCrze8SNFZ4kA',
    })
    expect(form.safeParse({ token: 'x', nonce: 'q83vEjRWeJCrze8SNFZ4kB' }).success).toBe(false)
    expect(
      endpoints.revoke_token.request.form.safeParse({ token: 'x', reason: 'a\nb', audience: 'y' }).success,
    ).toBe(false)
  })

  test('are strict as forms everywhere else', () => {
    expect(endpoints.present.request.form.safeParse({ state: RANDOM, credential: '{}' }).success).toBe(true)
    expect(
      endpoints.present.request.form.safeParse({ state: RANDOM, credential: '{}', extra: '1' }).success,
    ).toBe(false)
    expect(
      endpoints.sign_in_callback_by_form.request.form.safeParse({ state: RANDOM, payload: 'x', extra: '1' })
        .success,
    ).toBe(false)
  })
})

describe('query parameters', () => {
  const withQuery = endpointList
    // Identity providers add parameters of their own.
    .filter(({ id, request }) => request.query !== undefined && id !== 'finish_provider_sign_in')
    .map(({ id }) => id)

  test('finish_provider_sign_in ignores what a provider adds', () => {
    const query = { ...queries.finish_provider_sign_in, session_state: 'x', scope: 'openid' }
    expect(findProblem('finish_provider_sign_in', 'query', query)).toBeUndefined()
  })

  test.each(withQuery)('%s takes a good query and rejects an unknown parameter', (id) => {
    const query = queries[id] ?? {}
    expect(findProblem(id, 'query', query)).toBeUndefined()
    expect(findProblem(id, 'query', { ...query, api_key: 'x' })).toMatchObject({
      code: 'validation_failed',
      errors: [{ path: 'api_key' }],
    })
  })

  const pageBad = ['0', '201', '-1', '1.5', '1e2', ' 5', '0x10', '', '007']
  const cursorBad = ['', 'a b', 'a\u0000b', "' OR", 'x'.repeat(513)]
  const positionBad = [
    'garbage',
    `${EPOCH}.-1`,
    `${EPOCH}.1.5`,
    `${EPOCH}.9223372036854775808`,
    `${EPOCH}.x`,
    `${EPOCH}.`,
    '.',
    EPOCH,
    `${EPOCH}. 1`,
    `${EPOCH}.1e3`,
    `${EPOCH}.01`,
    '',
  ]
  const spoiledQueries: Spoiled[] = [
    ...(
      [
        'list_sites',
        'list_issuers',
        'list_keys',
        'list_operator_keys',
        'list_nodes',
        'list_webhooks',
        'list_deliveries',
        'list_site_deliveries',
        'list_credentials',
        'list_tokens',
        'list_users',
        'list_audit',
        'list_service_audit',
        'list_verifiers',
        'list_log_entries',
        'list_people',
        'list_receipts',
        'list_drills',
        'list_sessions',
        'list_person_names',
        'list_passkeys',
      ] as const
    ).flatMap((id): Spoiled[] => [
      [id, 'limit', pageBad],
      [id, 'cursor', cursorBad, 'cursor_malformed'],
    ]),
    ['feed', 'after', positionBad, 'cursor_malformed'],
    ['list_log_entries', 'after', positionBad, 'cursor_malformed'],
    ['list_log_entries', 'before', positionBad, 'cursor_malformed'],
    ['list_log_entries', 'kind', ['', 'user', 'heartbeat', 'User.revoked']],
    ['read_summary', 'window', ['', '1d', '24H']],
    ['read_head', 'observe', ['', '0', 'true']],
    ['forward_auth', 'min_seq', positionBad, 'cursor_malformed'],
    ['forward_auth', 'scope', [['*'], ['a b'], Array.from({ length: 33 }, (_, i) => `s${i}`)]],
    ['revocation_status', 'min_seq', positionBad, 'cursor_malformed'],
    ['revocation_status', 'site_id', [...bad.site_id, undefined]],
    [
      'revocation_status',
      'credential_ids',
      [[], [''], ['nonsense'], undefined, Array.from({ length: 101 }, () => CREDENTIAL_ID)],
    ],
    ['propagation_receipt', 'seq', ['', '0', '-1', 'x', '1.5', '9999999999999999', undefined]],
    ['propagation_stats', 'window', ['2h', '', '24H']],
    ['list_receipts', 'state', ['lost', 'Complete', '']],
    ['list_credentials', 'ppid', bad.ppid],
    ['list_credentials', 'status', ['unknown', 'Active', '']],
    ['list_credentials', 'issuer', ['did:web:issuer.example', '', 'x'.repeat(1025)]],
    ['list_credentials', 'issuer_key', ['key-1', '', 'a b']],
    ['list_credentials', 'source', ['', 'Issued', 'seen']],
    ['list_credentials', 'expires_before', ['', 'soon', '2026-13-01T00:00:00Z']],
    ['list_tokens', 'ppid', bad.ppid],
    ...(['list_audit', 'list_service_audit'] as const).flatMap((id): Spoiled[] => [
      [
        id,
        'actor',
        ['', 'key_1', 'key:key_1', 'Operator', 'operator:', 'sender:a\nb', `holder:${'x'.repeat(1040)}`],
      ],
      [id, 'action', ['', 'User.revoke', 'user.', 'user.revoke.x', 'user revoke', "x' OR 1=1"]],
      [id, 'target', ['', 'a\u0000b', '\u202Ecod', 'x'.repeat(2049)]],
      [id, 'outcome', ['', 'failed', 'Done']],
      [id, 'request_id', ['', 'a b', 'x'.repeat(129)]],
      [id, 'from', ['', 'yesterday', '2026-11-14', '2026-02-30T00:00:00Z']],
      [id, 'to', ['', '1763121600']],
      [id, 'order', ['', 'desc']],
      [id, 'after', ['', 'a b', 'x'.repeat(65)]],
      [id, 'format', ['', 'xml', 'CSV']],
      [id, 'rows', ['0', '100001', '-1', '']],
    ]),
    ['list_service_audit', 'without_site', ['', '0', 'true']],
    ['list_tokens', 'token_sha256', ['', 'A'.repeat(64), 'a'.repeat(63)]],
    ['list_users', 'status', ['unknown', 'Active', '']],
    ['list_verifiers', 'state', ['', 'not_connected', 'Gone']],
    ['list_site_deliveries', 'status', ['', 'lost']],
    ['list_site_deliveries', 'kind', ['', 'heartbeat']],
    ['list_site_deliveries', 'webhook_id', ['', 'a b']],
    ['start_sign_in_by_link', 'requested_scope', ['', 'a  b', ' a', 'a a', 'A']],
    ['start_sign_in_by_link', 'return_url', bad.url, 'redirect_not_allowed'],
    ['start_sign_in_by_link', 'code_challenge_method', ['plain']],
    [
      'start_provider_sign_in',
      'return',
      [
        '',
        'https://evil.example',
        '//evil.example',
        '/\\\\evil.example',
        '/console/\\\\evil.example',
        '/consolex',
        '/console@evil.example',
        '/console/../wallet',
        '/console/%2e%2e/wallet',
        '/console/./x',
        '/console#x',
        '/console/a b',
        '/console/é',
        '/console/\r\nset-cookie: a=b',
        '/console/api/sites',
        '/console/oidc/start',
        'console',
        `/console/${'x'.repeat(2048)}`,
      ],
    ],
    ['start_provider_sign_in', 'step_up', ['', '0', 'true']],
    ['finish_provider_sign_in', 'state', ['nope', 'A'.repeat(42), ''], 'state_invalid'],
    ['finish_provider_sign_in', 'code', ['x'.repeat(4097)]],
    ['sign_in_callback', 'state', ['nope', 'A'.repeat(42), ''], 'state_invalid'],
    ['sign_in_callback', 'error', ['access_denied']],
    ['sign_in_callback', 'payload', [undefined]],
  ]

  test.each(spoiledQueries)('%s rejects a spoiled %s', (id, member, values, code = 'validation_failed') => {
    for (const value of values)
      expect(findProblem(id, 'query', { ...queries[id], [member]: value })?.code, JSON.stringify(value)).toBe(
        code,
      )
  })

  test('become numbers and lists, with the defaults of the contract', () => {
    expect(findSchema('list_sites', 'query').parse({})).toEqual({ limit: 50 })
    expect(findSchema('list_sites', 'query').parse({ limit: '200' })).toEqual({ limit: 200 })
    expect(findSchema('propagation_receipt', 'query').parse({ seq: '42' })).toEqual({ seq: 42 })
    expect(findSchema('forward_auth', 'query').parse({})).toEqual({ scope: [] })
    expect(findSchema('start_sign_in_by_link', 'query').parse(queries.start_sign_in_by_link)).toMatchObject({
      requested_scope: ['orders:read', 'orders:write'],
    })
  })

  test('let the user cancel a sign-in', () => {
    expect(
      findProblem('sign_in_callback', 'query', { state: RANDOM, error: 'access_denied' }),
    ).toBeUndefined()
    expect(findProblem('sign_in_callback', 'query', { state: RANDOM, error: 'other' })?.code).toBe(
      'validation_failed',
    )
  })

  test('take a hundred ids', () => {
    const credential_ids = Array.from({ length: 100 }, (_, i) => `cred_${String(i).padStart(8, '0')}`)
    expect(findProblem('revocation_status', 'query', { credential_ids })).toBeUndefined()
  })
})

describe('path parameters', () => {
  test('that fit no grammar are not found, and nothing more is said', () => {
    const { error } = endpoints.read_site.request.params.safeParse({ site_id: 'Not A Site' })
    expect(error && toValidationProblem(error, 'params')).toEqual({ code: 'not_found', errors: [] })
    expect(
      endpoints.change_issuer_key.request.params.safeParse({
        site_id: 'shop.example',
        issuer: `did:key:${MULTIKEY}`,
        key: MULTIKEY,
      }).success,
    ).toBe(true)
    expect(endpoints.problem_page.request.params.safeParse({ code: 'toString' }).success).toBe(false)
  })
})

describe('request headers', () => {
  test('are judged where they matter and left alone where they do not', () => {
    const { headers } = endpoints.feed.request
    expect(
      headers.parse({
        'last-event-id': `${EPOCH}.7`,
        'x-verifier-id': 'web-1',
        'feed-version': '1',
        accept: '*/*',
      }),
    ).toEqual({
      'last-event-id': `${EPOCH}.7`,
      'x-verifier-id': 'web-1',
      'feed-version': '1',
    })
    const findCode = (value: unknown) => {
      const { error } = headers.safeParse(value)
      return error && toValidationProblem(error, 'headers').code
    }
    for (const cursor of ['garbage', `${EPOCH}.-1`, ''])
      expect(findCode({ 'last-event-id': cursor })).toBe('cursor_malformed')
    for (const id of ['', 'x'.repeat(65), 'a b'])
      expect(findCode({ 'x-verifier-id': id })).toBe('validation_failed')
    expect(findCode({ 'feed-version': '2' })).toBe('validation_failed')
  })

  test('take any Prefer, and an Idempotency-Key of visible characters', () => {
    const { headers } = endpoints.revoke_user.request
    expect(headers.safeParse({ prefer: 'nonsense', 'idempotency-key': 'k'.repeat(255) }).success).toBe(true)
    for (const key of ['', 'k'.repeat(256), 'a b', 'é'])
      expect(headers.safeParse({ 'idempotency-key': key }).success, key).toBe(false)
  })
})
