import type { EndpointId } from '../../src/contract/endpoints.ts'
import { endpointList } from '../../src/contract/endpoints.ts'
import { limits, rateLimits } from '../../src/contract/limits.ts'

type Json = Record<string, unknown>

export const AT = '2026-11-14T12:00:00Z'
export const LATER = '2026-12-14T12:00:00.5Z'
export const PPID = 'did:service:ppid_4xk2p7q9d3m6w8zn'
export const SITE = 'shop.example'
export const CREDENTIAL_ID = 'cred_01k9x3v0h2e8y6q4b7d5m1n8ra'
export const MULTIKEY = 'z6MkrJVnaZkeFzdQyMZu1cgjg7k1pZZ6pvBQ7XJPt4swbTQ2'
export const EPOCH = 'm3x9q2k7v5t1'
export const HASH = 'ab'.repeat(32)
export const RANDOM = `${'A'.repeat(42)}E`
const NONCE = 'q83vEjRWeJCrze8SNFZ4kA'
const SIGNATURE = 'A'.repeat(86)

/** The example of the design, completed. */
export const credential = {
  '@context': ['https://www.w3.org/ns/credentials/v2', 'https://w3id.org/countersign/access/v1'],
  id: 'did:service:cred_01k9x3v0h2e8y6q4b7d5m1n8ra',
  type: ['VerifiableCredential', 'AccessCredential'],
  issuer: 'did:web:issuer.example',
  validFrom: AT,
  validUntil: '2026-12-14T12:00:00Z',
  credentialSubject: {
    id: PPID,
    site_id: SITE,
    scope: ['orders:read', 'orders:write'],
    permission_id: 'perm_orders',
    holder_key: `did:key:${MULTIKEY}`,
  },
  proof: {
    type: 'DataIntegrityProof',
    cryptosuite: 'eddsa-jcs-2022',
    proofPurpose: 'assertionMethod',
    created: AT,
    verificationMethod: 'did:web:issuer.example#key-1',
    proofValue: 'z5obCSsrQxuFJdq6PrUMCtqY9obBHDd1ZtdUDUrHSoXq',
  },
}

export const bodies: Partial<Record<EndpointId, Json>> = {
  protected_action: { action: 'hello' },
  exchange_proof: { credential, site_id: SITE, requested_scope: ['orders:read'], ttl_seconds: 300 },
  introspect: {
    token: `svc_at_${'A'.repeat(49)}`,
    token_type_hint: 'access_token',
    site_id: SITE,
    nonce: NONCE,
  },
  revoke_token: { token: 'x', token_type_hint: 'access_token', reason: 'lost laptop' },
  revoke_token_by_id: { reason: 'lost laptop' },
  revoke_user: { ppid: PPID, site_id: SITE, reason: 'left the company' },
  revoke_credential: { credential_id: CREDENTIAL_ID, site_id: SITE, reason: 'rotated' },
  reinstate_user: { ppid: PPID, site_id: SITE, reason: 'came back' },
  sign_out_user: { ppid: PPID, site_id: SITE, reason: 'lost phone' },
  resolve_user: { user_ref: 'alice' },
  erase_user: { user_ref: 'alice', dry_run: true },
  revoke_holder: { holder_key: `did:key:${MULTIKEY}`, reason: 'stolen' },
  cut_off_issuer: { issuer: 'did:web:issuer.example', reason: 'breach' },
  cut_off_site: { confirm: SITE, reason: 'breach' },
  issue_credential: {
    site_id: SITE,
    user_ref: 'user-7',
    scope: ['orders:read'],
    permission_id: 'perm_orders',
    ttl_seconds: 600,
    holder_key: `did:key:${MULTIKEY}`,
  },
  create_offer: {
    site_id: SITE,
    ppid: PPID,
    scope: ['orders:read'],
    permission_id: 'perm_orders',
    ttl_seconds: 600,
  },
  read_offer: { offer: RANDOM },
  claim_offer: { offer: RANDOM, holder_key: `did:key:${MULTIKEY}` },
  start_sign_in: {
    site_id: SITE,
    return_url: 'https://app.example/cb',
    requested_scope: ['orders:read'],
    client_state: 'abc',
    code_challenge: RANDOM,
    code_challenge_method: 'S256',
  },
  present: { state: RANDOM, credential },
  sign_in_result: { code: RANDOM, code_verifier: 'v'.repeat(43) },
  acknowledge: { epoch: EPOCH, seq: 42, sent_at: AT, closed: true },
  create_site: {
    site_id: SITE,
    name: 'Shop',
    return_urls: ['https://app.example/cb', 'http://localhost:3000/cb'],
    hosts: ['shop.example', 'api.shop.example:8443'],
    bearer: 'on',
    holder_proof: 'optional',
    delegation: 'on',
    credential_ttl_seconds_max: 86_400,
    max_staleness_seconds_max: 60,
  },
  change_site: {
    name: null,
    return_urls: [],
    hosts: null,
    bearer: 'off',
    holder_proof: 'required',
    delegation: 'on',
    credential_ttl_seconds_max: null,
    max_staleness_seconds_max: 5,
    reason: 'breach',
  },
  add_issuer: {
    issuer: 'did:web:issuer.example',
    keys: [MULTIKEY],
    scope: ['orders:read'],
    credential_ttl_seconds_max: 7200,
    label: 'main',
  },
  change_issuer: {
    status: 'distrusted',
    keys: [MULTIKEY],
    scope: null,
    credential_ttl_seconds_max: 60,
    label: 'old',
    subject_claim: 'oid',
    confirm_new_ids: true,
  },
  change_issuer_key: { status: 'retired' },
  receive_token_revocation: { sub_id: { format: 'iss_sub', iss: 'https://idp.example', sub: 'alice' } },
  create_key: { permissions: ['tokens:introspect', 'feed:read'], label: 'ci', expires_in_seconds: 2 },
  create_webhook: { url: 'https://hooks.example/in', kinds: ['user.revoked'] },
}

export const queries: Partial<Record<EndpointId, Record<string, string | string[]>>> = {
  forward_auth: { scope: ['orders:read'], min_seq: `${EPOCH}.42` },
  revocation_status: { credential_ids: [CREDENTIAL_ID], site_id: SITE, min_seq: `${EPOCH}.42` },
  start_sign_in_by_link: {
    site_id: SITE,
    return_url: 'https://app.example/cb',
    requested_scope: 'orders:read orders:write',
    client_state: 'abc',
    code_challenge: RANDOM,
    code_challenge_method: 'S256',
  },
  sign_in_page: { state: RANDOM },
  sign_in_callback: { state: RANDOM, payload: 'opaque' },
  feed: { after: `${EPOCH}.0` },
  propagation_receipt: { seq: '42' },
  list_log_entries: {
    after: `${EPOCH}.1`,
    before: `${EPOCH}.9`,
    kind: 'user.revoked',
    limit: '9',
    cursor: 'abc',
  },
  read_head: { observe: '1' },
  list_credentials: { limit: '200', cursor: 'abc', ppid: PPID, status: 'revoked' },
  list_tokens: { limit: '1', cursor: 'abc', ppid: PPID, token_sha256: 'a'.repeat(64) },
}

const site = {
  site_id: SITE,
  name: 'Shop',
  return_urls: ['https://app.example/cb'],
  hosts: null,
  bearer: 'on',
  holder_proof: 'optional',
  delegation: 'on',
  credential_ttl_seconds_max: 86_400,
  max_staleness_seconds_max: 60,
  created_at: AT,
}
const issuer = {
  type: 'credential',
  issuer: 'did:web:issuer.example',
  issuer_id: `iss_${'0a'.repeat(13)}`,
  keys: [
    { id: 'key-1', key: MULTIKEY, status: 'active' },
    { id: 'key-0', key: MULTIKEY, status: 'retired', retired_at: AT },
  ],
  scope: null,
  credential_ttl_seconds_max: 7200,
  keys_refreshed_at: AT,
  status: 'trusted',
  label: null,
  created_at: AT,
}
const oauthIssuer = {
  type: 'oauth',
  issuer: 'https://idp.example/realms/acme',
  issuer_id: `iss_${'1b'.repeat(13)}`,
  keys: [],
  audience: ['https://api.shop.example'],
  client_ids: null,
  required_claims: {},
  require_at_jwt: true,
  scope: null,
  scope_claim: 'scope',
  scope_map: { 'orders.read': ['orders:read'] },
  session_claim: null,
  subject_claim: 'sub',
  token_ttl_seconds_max: 86_400,
  user_ref_from_subject: false,
  session_ttl_seconds_max: 366 * 86_400,
  key_source: 'discovery',
  jwks_uri: null,
  signals: [],
  keys_refreshed_at: AT,
  status: 'trusted',
  label: null,
  created_at: AT,
}
const cutOff = {
  success: true,
  kind: 'user.signed_out',
  site_id: SITE,
  target: PPID,
  before: AT,
  already_revoked: false,
  epoch: EPOCH,
  seq: 43,
}

const revocation = {
  success: true,
  credential_id: CREDENTIAL_ID,
  revocation_type: 'user',
  credential_ids: [CREDENTIAL_ID],
  already_revoked: false,
  revoked_at: AT,
  tokens_revoked: 2,
  epoch: EPOCH,
  seq: 42,
}
const waiting = {
  verifier_id: 'web',
  instance_id: 'c4a7',
  state: 'waiting',
  seq: 41,
  acknowledged_at: null,
  rejects_from: AT,
}
const propagation = {
  connected: 2,
  acknowledged: 1,
  expected: 2,
  elapsed_ms: 12.5,
  committed_at: AT,
  denied_everywhere_at: AT,
  denied_at_latest: AT,
  laggards: [{ verifier_id: 'web', instance_id: 'c4a7', seq: 41 }],
  verifiers: [
    waiting,
    {
      ...waiting,
      instance_id: null,
      state: 'acknowledged',
      seq: 42,
      acknowledged_at: AT,
      rejects_from: null,
    },
  ],
  exceptions: [],
}
const head = { site_id: SITE, epoch: EPOCH, seq: 42, hash: HASH, as_of: AT, max_age_seconds: 60 }
const introspectionProof = {
  nonce: NONCE,
  site_id: SITE,
  token_sha256: HASH,
  head: { epoch: EPOCH, seq: 42, hash: HASH },
  as_of: AT,
  kid: 'feed-1',
  signature: SIGNATURE,
}
const feedKeyStatement = {
  kid: 'feed-1',
  public_key_multibase: MULTIKEY,
  next_sha256: HASH,
  previous_kid: 'feed-0',
  previous_compromised: false,
  at: AT,
  previous_signature: SIGNATURE,
  signature: SIGNATURE,
}
const delivery = {
  delivery_id: 'dlv_1',
  webhook_id: 'wh_1',
  kind: 'user.revoked',
  epoch: EPOCH,
  seq: 42,
  status: 'failed',
  attempts: 8,
  created_at: AT,
  next_attempt_at: null,
  delivered_at: null,
  last_status: 503,
}
const paged = (item: Json) => ({ items: [item], next_cursor: null })

/** Valid responses; the first of each endpoint has all members. */
export const answers: Partial<Record<EndpointId, Json[]>> = {
  protected_action: [
    {
      allowed: true,
      action: null,
      subject: {
        ppid: PPID,
        site_id: SITE,
        scope: [],
        credential_id: CREDENTIAL_ID,
        permission_id: 'perm_default',
        expires_at: LATER,
      },
      presented: 'bearer',
      view: { epoch: EPOCH, seq: 42, age_ms: 120.5 },
    },
  ],
  exchange_proof: [
    {
      access_token: `svc_at_${'aB3'.repeat(16)}Z`,
      token_type: 'Bearer',
      expires_in: 900,
      site_id: SITE,
      scope: ['orders:read'],
      permission_id: 'perm_orders',
    },
  ],
  introspect: [
    {
      active: true,
      scope: 'orders:read orders:write',
      scopes: ['orders:read', 'orders:write'],
      client_id: SITE,
      token_type: 'Bearer',
      exp: 1_794_657_600,
      iat: 1_794_656_700,
      nbf: 1_794_656_700,
      sub: PPID,
      aud: SITE,
      iss: 'https://auth.example',
      jti: 'tok_1',
      site_id: SITE,
      permission_id: 'perm_orders',
      credential_id: CREDENTIAL_ID,
      credential_chain: [CREDENTIAL_ID],
      holder_thumbprints: ['A'.repeat(43)],
      issuer: 'did:web:issuer.example',
      issuer_key: 'key-1',
      root_created_at: '2026-11-15T09:00:00Z',
      oldest_created_at: '2026-11-15T09:00:00Z',
    },
    { active: false },
    { active: false, proof: introspectionProof },
  ],
  revoke_token: [
    { success: true, revoked: true },
    { success: true, revoked: false },
  ],
  revoke_token_by_id: [
    { success: true, token_id: 'tok_1', revoked: true, epoch: EPOCH, seq: 42, propagation },
    { success: true, token_id: 'tok_1', revoked: false, epoch: null, seq: null },
  ],
  revoke_user: [
    { ...revocation, propagation },
    revocation,
    { ...revocation, credential_id: null, credential_ids: [] },
    { ...revocation, entries: [{ ppid: PPID, seq: 42, already_revoked: true }] },
  ],
  revoke_credential: [{ ...revocation, revocation_type: 'credential' }],
  reinstate_user: [
    {
      success: true,
      ppid: PPID,
      site_id: SITE,
      reinstated_at: AT,
      already_active: false,
      entries: [{ ppid: PPID, seq: 43, already_active: false }],
      epoch: EPOCH,
      seq: 43,
    },
  ],
  sign_out_user: [
    { ...cutOff, propagation },
    { ...cutOff, entries: [{ ppid: PPID, seq: 43 }] },
  ],
  resolve_user: [
    {
      site_id: SITE,
      users: [
        { ppid: PPID, status: 'active' },
        { ppid: PPID, status: 'revoked', revoked_at: AT },
      ],
      epoch: EPOCH,
      seq: 43,
    },
  ],
  erase_user: [
    {
      success: true,
      dry_run: false,
      site_id: SITE,
      ppids: [PPID],
      credentials: 3,
      tokens: 1,
      offers: 0,
      presentations: 0,
      audit_rows: 7,
      epoch: EPOCH,
      seq: 43,
    },
  ],
  revoke_holder: [{ ...cutOff, kind: 'holder.revoked', target: 'A'.repeat(43), already_revoked: true }],
  cut_off_issuer: [{ ...cutOff, kind: 'issuer.cut_off', target: 'did:web:issuer.example' }],
  cut_off_site: [{ ...cutOff, kind: 'site.cut_off', target: SITE }],
  revocation_status: [
    {
      success: true,
      as_of: { epoch: EPOCH, time: AT, seq: 42 },
      statuses: {
        [CREDENTIAL_ID]: {
          status: 'revoked',
          revoked: true,
          revoked_at: AT,
          revocation_type: 'credential',
          reason: 'rotated',
        },
        cred_00000001: { status: 'active', revoked: false },
        cred_00000002: { status: 'expired', revoked: false },
        cred_00000003: { status: 'unknown', revoked: null },
      },
    },
    { success: true, as_of: { epoch: EPOCH, time: AT }, statuses: {} },
  ],
  issue_credential: [{ credential, credential_id: CREDENTIAL_ID, ppid: PPID, expires_at: LATER }],
  create_offer: [{ offer_url: 'https://auth.example/wallet#offer', expires_in: 900 }],
  read_offer: [
    {
      site_id: SITE,
      name: null,
      scope: ['orders:read'],
      ttl_seconds: 600,
      issuer: 'did:web:auth.example',
      expires_at: '2026-01-01T00:15:00Z',
    },
  ],
  claim_offer: [{ credential }],
  start_sign_in: [{ state: RANDOM, auth_url: 'https://auth.example/auth/sign-in?state=x', expires_in: 600 }],
  present: [{ callback_url: 'https://auth.example/auth/sdk-callback?state=x&payload=y' }],
  sign_in_result: [
    {
      ppid: PPID,
      site_id: SITE,
      scope: ['orders:read'],
      permission_id: 'perm_orders',
      credential_id: CREDENTIAL_ID,
      verified_at: AT,
      expires_at: LATER,
      issuer: 'did:web:issuer.example',
      oldest_created_at: AT,
      credential_chain: [CREDENTIAL_ID],
      holder_thumbprints: [],
    },
  ],
  snapshot: [{ type: 'head', ...head, base: { seq: 0, hash: '0'.repeat(64) } }],
  feed: [{ ...head, kid: 'feed-1', signature: 'A'.repeat(86) }],
  propagation_receipt: [{ epoch: EPOCH, seq: 42, ...propagation }],
  list_log_entries: [
    {
      epoch: EPOCH,
      base: { seq: 0, hash: '0'.repeat(64) },
      ...paged({
        epoch: EPOCH,
        seq: 42,
        site_id: SITE,
        kind: 'user.revoked',
        body: { ppid: PPID, revoked_at: AT },
        at: AT,
        prev_hash: '0'.repeat(64),
        hash: 'a'.repeat(64),
      }),
    },
  ],
  read_head: [{ ...head, kid: 'feed-1', signature: 'A'.repeat(86) }],
  create_site: [site],
  list_sites: [paged(site), { items: [], next_cursor: 'abc' }],
  read_site: [{ ...site, name: null, credential_ttl_seconds_max: null }],
  change_site: [site, { ...site, propagation }],
  add_issuer: [issuer, oauthIssuer],
  get_issuer: [issuer, oauthIssuer],
  list_issuers: [paged(issuer)],
  change_issuer: [{ ...issuer, status: 'distrusted', scope: ['orders:read'] }],
  change_issuer_key: [issuer],
  create_key: [{ key_id: 'key_1', api_key: `svc_sk_${'A'.repeat(49)}`, permissions: ['feed:read'] }],
  list_keys: [
    paged({
      key_id: 'key_1',
      permissions: ['feed:read'],
      label: 'ci',
      last4: 'aB3x',
      created_at: AT,
      expires_at: null,
    }),
  ],
  create_webhook: [{ webhook_id: 'wh_1', secret: `whsec_${'A'.repeat(43)}=` }],
  rotate_webhook_secret: [
    { webhook_id: 'wh_1', secret: `whsec_${'A'.repeat(43)}=`, previous_valid_until: AT },
  ],
  list_webhooks: [
    paged({ webhook_id: 'wh_1', url: 'https://hooks.example/in', kinds: null, status: 'on', created_at: AT }),
  ],
  list_deliveries: [paged(delivery)],
  replay_delivery: [{ ...delivery, status: 'pending', next_attempt_at: AT }],
  list_credentials: [
    paged({
      credential_id: CREDENTIAL_ID,
      ppid: PPID,
      issuer: 'did:web:issuer.example',
      scope: ['orders:read'],
      permission_id: 'perm_orders',
      status: 'revoked',
      holder_bound: false,
      valid_from: AT,
      expires_at: LATER,
      first_seen_at: AT,
      revoked_at: AT,
      revocation_type: 'credential',
      reason: 'rotated',
    }),
  ],
  list_tokens: [
    paged({
      token_id: 'tok_1',
      ppid: PPID,
      credential_id: CREDENTIAL_ID,
      scope: ['orders:read'],
      permission_id: 'perm_orders',
      status: 'active',
      issued_at: AT,
      expires_at: LATER,
      revoked_at: null,
    }),
  ],
  list_audit: [
    paged({
      audit_id: 'aud_1',
      at: AT,
      actor: { type: 'api_key', id: 'key_1' },
      action: 'user.revoke',
      target: PPID,
      outcome: 'done',
      reason: null,
      seq: 42,
      request_id: 'req-1',
    }),
  ],
  list_verifiers: [
    paged({
      verifier_id: 'web',
      instance_id: 'c4a7',
      state: 'silent',
      max_staleness_seconds: 30,
      fails_open: false,
      connected_at: AT,
      seq: 41,
      lag: 1,
      acknowledged_at: null,
    }),
  ],
  discovery: [
    {
      base_url: 'https://auth.example',
      service_version: '0.1.0',
      did: 'did:web:auth.example',
      endpoints: Object.fromEntries(endpointList.map(({ id, path }) => [id, `https://auth.example${path}`])),
      limits,
      rate_limits: rateLimits,
      cryptosuites: ['eddsa-jcs-2022', 'ecdsa-jcs-2019'],
      did_methods: ['key', 'jwk', 'web'],
      feed: {
        version: 1,
        keys: [{ kid: 'feed-1', public_key_multibase: MULTIKEY }],
        chain: [feedKeyStatement],
      },
    },
  ],
  jwks: [{ keys: [{ kty: 'OKP', crv: 'Ed25519', x: 'abc' }] }],
  alive: [{ status: 'alive' }],
  ready: [{ status: 'ready', audited: 0.25 }],
}

/** Responses in formats of other standards, which may have unknown members. */
export const openAnswers: Partial<Record<EndpointId, Json[]>> = {
  did_document: [
    {
      id: 'did:web:auth.example',
      verificationMethod: [
        {
          id: 'did:web:auth.example#key-1',
          type: 'Multikey',
          controller: 'did:web:auth.example',
          publicKeyMultibase: MULTIKEY,
        },
      ],
      assertionMethod: ['did:web:auth.example#key-1'],
    },
  ],
  context: [{ '@context': { '@version': 1.1 } }],
  openapi: [{ openapi: '3.1.0' }],
}
