import { describe, expect, test } from 'vitest'
import { limits, rateLimits } from '../../src/contract/limits.ts'
import { ISSUER_KEYS_MAX } from '../../src/log/entry.ts'
import { COMPROMISED_KEYS_MAX } from '../../src/log/snapshot.ts'

const DAY = 86_400

describe('limits', () => {
  test('are those of the contract', () => {
    expect(limits).toMatchObject({
      credential_header_chars_max: 8192,
      credential_bytes_max: 6144,
      json_depth_max: 16,
      request_body_bytes_max: 65_536,
      url_bytes_max: 8192,
      header_section_bytes_max: 16_384,
      headers_arrive_seconds_max: 10,
      request_arrive_seconds_max: 30,
      scope_list_max: 32,
      status_ids_max: 100,
      token_ttl_seconds_min: 60,
      token_ttl_seconds_max: 3600,
      token_ttl_seconds_default: 900,
      tokens_per_credential_max: 20,
      sign_in_state_seconds: 600,
      sign_in_payload_seconds: 60,
      sign_in_code_seconds: 60,
      sign_in_tries_max: 10,
      credential_lifetime_seconds_max: 366 * DAY,
      credential_lifetime_seconds_default: 30 * DAY,
      valid_from_leeway_seconds: 10,
      delegation_depth_max: 3,
      holder_proof_age_seconds_max: 60,
      feed_connections_per_key_max: 1000,
      feed_heartbeat_seconds: 5,
      feed_buffer_bytes_max: 262_144,
      offer_seconds: 900,
      page_items_default: 50,
      page_items_max: 200,
      client_state_chars_max: 512,
      ui_locales_chars_max: 100,
      user_ref_chars_max: 256,
      reason_chars_max: 256,
      name_chars_max: 128,
      label_chars_max: 64,
      log_kept_seconds_min: 396 * DAY,
      wait_seconds_max: 30,
      idempotency_kept_seconds: DAY,
      request_id_chars_max: 128,
      verifier_id_chars_max: 64,
      feed_observers_per_key_max: 20,
      feed_leases_per_key_max: 1000,
      feed_silent_seconds: 15,
      clock_allowance_seconds: 10,
      max_age_seconds_min: 5,
      max_age_seconds_default: 60,
      webhook_attempts_max: 8,
      webhook_answer_seconds_max: 15,
      webhook_answer_bytes_max: 65_536,
      webhook_disabled_after_seconds: 5 * DAY,
      webhook_secret_overlap_seconds: DAY,
    })
  })

  test('agree with what the reader of the log takes', () => {
    expect(limits.issuer_keys_max).toBe(ISSUER_KEYS_MAX)
    expect(limits.compromised_keys_max).toBe(COMPROMISED_KEYS_MAX)
  })

  test('cannot be changed by code that imports them', () => {
    expect(() => Object.assign(limits, { status_ids_max: 1 })).toThrow(TypeError)
    expect(Object.isFrozen(rateLimits)).toBe(true)
  })

  test('on pace are those of the contract', () => {
    const pace = Object.fromEntries(
      Object.entries(rateLimits).map(([name, { requests, window_seconds, per }]) => [
        name,
        [requests, window_seconds, per],
      ]),
    )
    expect(pace).toEqual({
      keyless: [600, 10, 'address'],
      wrong_key: [60, 10, 'address'],
      unknown_key: [60, 10, 'address'],
      sign_in_start: [300, 10, 'address'],
      failed_presentation: [600, 10, 'address'],
      key: [20_000, 10, 'api_key'],
      signal: [5000, 10, 'sender'],
    })
  })
})
