import { randomBytes } from 'node:crypto'
import { formatTime, type JsonObject, type LogHead, type SiteId } from '@countersign/core'
import { createGuard, type Guard } from '@countersign/sdk'
import { testRequest } from '@countersign/sdk/testing'
import type { DevFile } from '../../packages/service/src/development/demo.ts'
import { createSecretText } from '../../packages/service/src/keys/secret-text.ts'
import { issued, newPpid } from '../../packages/service/test/party.ts'
import type { Issuer } from './client.ts'
import { createForger, FORGED_EPOCH, type Forger } from './evil-relay.ts'
import type { FaultScenario } from './fault-scenario.ts'
import { type Forgery, type ForgingRelay, openForgingRelay } from './forging-relay.ts'
import { pause } from './service-process.ts'

export interface RelayScenarioOptions {
  /** Where the service runs, with the file of its development start. */
  readonly url: string
  readonly dev: DevFile
  /**
   * An issuer that the site trusts. Nothing else may be appended to the site's log during an
   * attack: it would expose the forgery.
   */
  readonly issuer: Issuer
  /** How long each attack goes on. */
  readonly attackMs: number
}

const STALENESS_SECONDS = 10
const HELD_BACK_MS = 6000
const ASK_MS = 100
const RECOVERY_MS_MAX = 60_000

/** Attacks by a relay past TLS that forges what the service does not sign (S1, S2, S3, S5). */
export function relayScenarios(options: RelayScenarioOptions): readonly FaultScenario[] {
  return [
    introspectionScenario(options),
    grantScenario(options),
    keySwapScenario(options),
    lockOutScenario(options),
  ]
}

interface Stage {
  readonly relay: ForgingRelay
  readonly forger: Forger
  readonly guard: Guard
}

/**
 * `pins`: the keys that the guard pins, or none. `believes` adds the attacker's key to the pins:
 * the control arm.
 */
async function onStage<T>(
  { url, dev }: RelayScenarioOptions,
  { pins, believes = false }: { readonly pins: boolean; readonly believes?: boolean },
  play: (stage: Stage) => Promise<T>,
): Promise<T> {
  const forger = await createForger(dev.site_id as SiteId)
  const relay = await openForgingRelay(url)
  const discovery = (await (await fetch(`${url}/.well-known/countersign`)).json()) as {
    feed: { keys: { kid: string; public_key_multibase: string }[] }
  }
  const genuine = discovery.feed.keys.map(({ kid, public_key_multibase }) => [kid, public_key_multibase])
  const forged = believes ? [[forger.kid, forger.feedKey.publicKey.multikey]] : []
  const guard = createGuard({
    baseUrl: relay.url,
    siteId: dev.site_id,
    apiKey: dev.site_key,
    maxStalenessSeconds: STALENESS_SECONDS,
    ...(pins ? { feedKeys: Object.fromEntries([...genuine, ...forged]) } : {}),
    onStateChange: () => {},
  })
  try {
    return await play({ relay, forger, guard })
  } finally {
    await guard.close()
    await relay.close()
  }
}

const show = (guard: Guard, dev: DevFile, header: string) =>
  guard.verify(testRequest('GET', `http://${dev.site_id}/`, { 'X-Service-Credential': header }))

/** Asks again and again for so long; the sentence of the first acceptance, or nothing. */
async function firstAcceptance(
  ask: () => Promise<{ readonly ok: boolean }>,
  forMs: number,
  what: string,
): Promise<readonly string[]> {
  const startedMs = performance.now()
  while (performance.now() - startedMs < forMs) {
    if ((await ask()).ok)
      return [`the guard accepted ${what} after ${Math.round(performance.now() - startedMs)} ms`]
    await pause(ASK_MS)
  }
  return []
}

async function acceptedWithin(
  ask: () => Promise<{ readonly ok: boolean }>,
  withinMs: number,
): Promise<boolean> {
  return (await firstAcceptance(ask, withinMs, '')).length > 0
}

async function forgedCredential({ issuer }: Forger, dev: DevFile): Promise<string> {
  const { header } = await issued(issuer, { siteId: dev.site_id, scope: ['admin:all'], nowMs: Date.now() })
  return header
}

/** S1, A251: introspection answers that the relay made up. */
function introspectionScenario(options: RelayScenarioOptions): FaultScenario {
  const { dev } = options
  const lies = (head: () => LogHead, forger: Forger, isSigned: boolean, lifeSeconds: number): Forgery => ({
    answer(path, answered, sent) {
      if (!path.endsWith('/introspect')) return undefined
      const nowSeconds = Math.floor(Date.now() / 1000)
      const facts = {
        active: true,
        scope: 'admin:all',
        scopes: ['admin:all'],
        client_id: dev.site_id,
        token_type: 'Bearer',
        exp: nowSeconds + lifeSeconds,
        iat: nowSeconds,
        nbf: nowSeconds,
        sub: 'did:service:ppid_adminadmin',
        aud: dev.site_id,
        iss: dev.base_url,
        jti: 'madeup01',
        site_id: dev.site_id,
        permission_id: 'perm_admin',
        credential_id: 'cred_madeup01',
        credential_chain: ['cred_madeup01'],
        holder_thumbprints: [],
        issuer: dev.issuer,
        issuer_key: dev.issuer.slice('did:key:'.length),
        root_created_at: formatTime(Date.now() - 1000),
        oldest_created_at: formatTime(Date.now() - 1000),
      }
      const question = sent as { nonce: string; token: string }
      const genuineProof = (answered as { proof?: JsonObject }).proof
      if (!isSigned) return { ...facts, ...(genuineProof === undefined ? {} : { proof: genuineProof }) }
      return forger.introspection(facts, question, head())
    },
  })
  const attack = (believes: boolean, isSigned: boolean, lifeSeconds: number) =>
    onStage(options, { pins: true, believes }, async ({ relay, forger, guard }) => {
      await guard.ready()
      const head = (): LogHead => ({
        epoch: guard.state().epoch,
        seq: guard.state().seq,
        hash: '0'.repeat(64),
      })
      relay.become(lies(head, forger, isSigned, lifeSeconds))
      const ask = () => {
        const token = createSecretText('svc_at_', randomBytes(32))
        return guard.verify(
          testRequest('GET', `http://${dev.site_id}/`, { Authorization: `Bearer ${token}` }),
        )
      }
      return firstAcceptance(ask, Math.min(2000, options.attackMs), 'a made-up token')
    })
  return {
    finding: 'S1',
    name: 'a relay makes up introspection answers',
    run: async () => [
      ...(await attack(false, false, 900)),
      ...(await attack(false, true, 900)),
      // Signed by a key that the guard believes, but valid for ten years.
      ...(await attack(true, true, 315_360_000)),
    ],
    control: () => attack(true, true, 900),
  }
}

/**
 * S2, A252: a made-up grant with a correct hash, while heartbeats are held back and released in
 * turns.
 */
function grantScenario(options: RelayScenarioOptions): FaultScenario {
  const { dev, attackMs } = options
  const attack = (believes: boolean) =>
    onStage(options, { pins: true, believes }, async ({ relay, forger, guard }) => {
      let forgedMs = Number.NEGATIVE_INFINITY
      await guard.ready()
      relay.become({
        event({ kind, data, text }, write) {
          if (kind !== 'heartbeat') return text
          const nowMs = performance.now()
          if (nowMs - forgedMs < HELD_BACK_MS) return ': held back\n\n'
          if (nowMs - forgedMs < HELD_BACK_MS * 2) return text
          forgedMs = nowMs
          const { epoch, seq, hash } = data as LogHead
          const inject = async () => {
            const made = await forger.entry({ epoch, seq, hash }, 'issuer.trusted', forger.trustOfIssuer())
            write(made.text)
            if (believes) write(await forger.heartbeat(made.head))
          }
          inject().catch(() => {})
          return text
        },
      })
      relay.cut()
      const header = await forgedCredential(forger, dev)
      return firstAcceptance(
        () => show(guard, dev, header),
        attackMs,
        'a credential by an issuer that is not trusted',
      )
    })
  return {
    finding: 'S2',
    name: 'a relay makes up a grant and holds heartbeats back',
    run: () => attack(false),
    control: () => attack(true),
  }
}

/** S3, A254: without pins, the feed keys are swapped after first contact. */
function keySwapScenario(options: RelayScenarioOptions): FaultScenario {
  const { dev, attackMs } = options
  const swapped = (forger: Forger): Forgery => ({
    answer(path, answered) {
      if (path !== '/.well-known/countersign') return undefined
      return { ...(answered as object), feed: forger.feed }
    },
    snapshot: (lines) => forger.snapshot(lines),
    feed: (cursor) =>
      cursor.startsWith(`${FORGED_EPOCH}.`) ? () => forger.heartbeat(forger.snapshotHead()) : 'refuse',
  })
  const attack = (isHonestFirst: boolean) =>
    onStage(options, { pins: false }, async ({ relay, forger, guard }) => {
      if (!isHonestFirst) relay.become(swapped(forger))
      const header = await forgedCredential(forger, dev)
      if (isHonestFirst) {
        await guard.ready()
        relay.become(swapped(forger))
        relay.cut()
      }
      return firstAcceptance(
        () => show(guard, dev, header),
        attackMs,
        'a credential by an issuer that is not trusted',
      )
    })
  return {
    finding: 'S3',
    name: 'a relay swaps the feed keys after first contact',
    run: () => attack(true),
    // First contact without pins is as good as TLS and no better.
    control: () => attack(false),
  }
}

/** S5, A256: one made-up entry, a cut, and honesty from then on. */
function lockOutScenario(options: RelayScenarioOptions): FaultScenario {
  const { dev, issuer } = options
  const attack = (believes: boolean) =>
    onStage(options, { pins: true, believes }, async ({ relay, forger, guard }) => {
      await guard.ready()
      const { header } = await issuer.issue()
      if (!(await acceptedWithin(() => show(guard, dev, header), RECOVERY_MS_MAX)))
        return ['the guard accepted nothing to begin with']
      let hasForged = false
      relay.become({
        event({ kind, data, text }, write) {
          if (kind !== 'heartbeat' || hasForged) return hasForged ? ': withheld\n\n' : text
          hasForged = true
          const { epoch, seq, hash } = data as LogHead
          const inject = async () => {
            const body = { ppid: newPpid() as never, revoked_at: formatTime(Date.now()) }
            const made = await forger.entry({ epoch, seq, hash }, 'user.revoked', body)
            write(made.text)
            if (believes) write(await forger.heartbeat(made.head))
            await pause(500)
            relay.become()
            relay.cut()
          }
          inject().catch(() => {})
          return text
        },
      })
      relay.cut()
      while (!hasForged) await pause(50)
      // Until then the guard may still accept by what it knew before.
      await pause((STALENESS_SECONDS + 2) * 1000)
      const recoveredMs = believes ? STALENESS_SECONDS * 1000 : RECOVERY_MS_MAX
      const isBack = await acceptedWithin(() => show(guard, dev, header), recoveredMs)
      const isStill = isBack && (await show(guard, dev, header)).ok
      return isStill ? [] : ['the guard did not recover from one made-up entry']
    })
  return {
    finding: 'S5',
    name: 'a relay makes up one entry, cuts the feed and is honest again',
    run: () => attack(false),
    control: () => attack(true),
  }
}
