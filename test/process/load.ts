import type { Client, Issuer } from './client.ts'
import { type Ledger, revoke, type Thing } from './ledger.ts'
import { pause } from './service-process.ts'

/** Clients at work. */
export interface Load {
  /** Resolves when a revocation of each kind has been acknowledged, or something has gone wrong. */
  readonly begun: Promise<void>
  /** From now on the wire may break at any moment, and that is no fault. */
  expectEnd(): void
  /** Lets every client finish what it does. */
  stop(): Promise<void>
}

/** So many things are made for one that is not revoked. */
const LIVES_ON_EVERY = 5
/** As long as may be: what is left alone must still live at the end of a long run. */
const TOKEN_SECONDS = 3600
const KINDS = ['user', 'credential', 'token'] as const

/**
 * Several clients at once: they get tokens, revoke users, credentials and tokens, revoke again what
 * was revoked, and show it all the time. What was acknowledged goes into the ledger the moment the
 * answer is there; so does every answer that breaks a promise of the same node (I-1).
 */
export function startLoad(client: Client, issuer: Issuer, ledger: Ledger): Load {
  let isStopping = false
  let mayBreak = false
  const acknowledged = new Set<Thing['kind']>()
  let begin = () => {}
  const begun = new Promise<void>((resolve) => (begin = resolve))
  const unexpected = (what: string, status: number) => {
    // Busy is an honest answer, and acknowledges nothing.
    if (status === 503) return
    ledger.fault('other', `${what} was answered ${status}`)
    isStopping = true
    begin()
  }

  const revokeOne = async (kind: Thing['kind']) => {
    const made = await issuer.issue()
    const exchanged = await client.exchange(made.document, { ttl_seconds: TOKEN_SECONDS })
    if (exchanged.status !== 200) return unexpected('an exchange', exchanged.status)
    const thing: Thing = { kind, made, token: exchanged.body.access_token, state: 'living', place: undefined }
    ledger.things.push(thing)
    if (ledger.things.length % LIVES_ON_EVERY === 0) return
    thing.state = 'doubtful'
    const told = await revoke(client, thing)
    if (told.status !== 200) return unexpected(`a revocation of a ${kind}`, told.status)
    ledger.acknowledge(thing, told)
    acknowledged.add(kind)
    if (acknowledged.size === KINDS.length) begin()
    const [shown, asBearer] = await Promise.all([client.show(made.header), client.bearer(thing.token)])
    if (kind !== 'token' && shown.status === 200)
      ledger.fault('accepted', `a ${kind} was accepted right after its revocation`)
    if (asBearer.status === 200)
      ledger.fault('accepted', `a token was accepted right after the revocation of its ${kind}`)
  }

  const look = async () => {
    const thing = ledger.things[Math.floor(Math.random() * ledger.things.length)]
    if (thing === undefined) return pause(5)
    const { state, place } = thing
    const { status } = await client.bearer(thing.token)
    if (state === 'revoked' && status === 200)
      ledger.fault('accepted', `the token of a revoked ${thing.kind} was accepted`)
    if (thing.state === 'living' && status !== 200) unexpected('a living token', status)
    if (state !== 'revoked' || place === undefined) return
    const again = await revoke(client, thing)
    if (again.status !== 200) return unexpected('a second revocation', again.status)
    const { already_revoked, epoch, seq } = again.body
    if (already_revoked !== true || epoch !== place.epoch || seq !== place.seq)
      ledger.fault('other', 'a second revocation was answered otherwise')
  }

  const repeat = async (work: () => Promise<void>) => {
    while (!isStopping) {
      try {
        await work()
      } catch (error) {
        if (!mayBreak) ledger.fault('other', `a request failed: ${error}`)
        begin()
        return
      }
    }
  }
  const clients = [
    ...[...KINDS, ...KINDS].map((kind) => repeat(() => revokeOne(kind))),
    repeat(look),
    repeat(look),
  ]
  return {
    begun,
    expectEnd() {
      mayBreak = true
    },
    async stop() {
      isStopping = true
      await Promise.all(clients)
    },
  }
}
