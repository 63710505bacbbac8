import type { Made } from '../../packages/service/test/party.ts'
import { type Client, type Told, tokenSha256 } from './client.ts'
import type { LoggedEntry, OutsideLog } from './outside-log.ts'
import { pause } from './service-process.ts'

/**
 * What a client knows of a user, a credential or a token that it made. `doubtful`: a revocation was
 * sent, and no answer has come; it may have happened or not, but not by half.
 */
export interface Thing {
  readonly kind: 'user' | 'credential' | 'token'
  readonly made: Made
  readonly token: string
  state: 'living' | 'doubtful' | 'revoked'
  /** As it was acknowledged; tokens are acknowledged without. */
  place: { readonly epoch: string; readonly seq: number } | undefined
}

/**
 * `lost`: acknowledged, and not in the log. `accepted`: accepted though revoked. `half`: the parts
 * do not agree.
 */
export interface Fault {
  readonly kind: 'lost' | 'accepted' | 'half' | 'log' | 'other'
  readonly text: string
}

const ENTRY_KINDS = {
  user: 'user.revoked',
  credential: 'credential.revoked',
  token: 'token.revoked',
} as const
const AT_ONCE = 16

/**
 * Keeps, outside the service, what the service has acknowledged, and holds it against what is there
 * later.
 */
export class Ledger {
  readonly things: Thing[] = []
  readonly faults: Fault[] = []
  /** The hash at each position that was ever read: the log may only grow (I-7). */
  readonly #hashes: string[] = []
  readonly #lost = new Set<string>()

  count(state: Thing['state']): number {
    return this.things.filter((thing) => thing.state === state).length
  }

  acknowledge(thing: Thing, { body }: Told): void {
    if (thing.kind !== 'token') thing.place = { epoch: body.epoch, seq: body.seq }
    else if (body.revoked !== true)
      this.fault('other', `a living token was not revoked: ${JSON.stringify(body)}`)
    thing.state = 'revoked'
  }

  fault(kind: Fault['kind'], text: string): void {
    this.faults.push({ kind, text })
  }

  /** Counts once, however often it is missed. */
  #lose(thing: Thing, text: string): void {
    if (this.#lost.has(toName(thing))) return
    this.#lost.add(toName(thing))
    this.fault('lost', `${toName(thing)} ${text}`)
  }

  /**
   * Everything acknowledged is in the log, once, where it was said to be; nothing else is; what was
   * there before is there still.
   */
  checkLog(log: OutsideLog): void {
    for (const text of log.faults) this.fault('log', text)
    this.#hashes.forEach((hash, i) => {
      if (log.entries[i]?.hash !== hash) this.fault('log', `entry ${i + 1} is not what it was`)
    })
    for (const { hash } of log.entries.slice(this.#hashes.length)) this.#hashes.push(hash)
    const found = byName(log.entries)
    for (const thing of this.things) {
      const [entry, ...more] = found.get(toName(thing)) ?? []
      if (more.length > 0) this.fault('log', `${toName(thing)} is in the log ${more.length + 1} times`)
      if (thing.state === 'revoked' && entry === undefined)
        this.#lose(thing, 'was acknowledged and is not in the log')
      if (thing.state === 'living' && entry !== undefined)
        this.fault('log', `${toName(thing)} is in the log and was not revoked`)
      const { place } = thing
      if (
        entry !== undefined &&
        place !== undefined &&
        (place.epoch !== entry.epoch || place.seq !== entry.seq)
      ) {
        this.#lose(
          thing,
          `was acknowledged as ${place.epoch}.${place.seq} and is ${entry.epoch}.${entry.seq}`,
        )
      }
    }
  }

  /**
   * Shows these things to a node: what was revoked is refused, the rest accepted. What is in doubt
   * must be wholly revoked or not at all; it is revoked once more, after which there is no doubt
   * left.
   */
  async checkNode(client: Client, log: OutsideLog, things: readonly Thing[] = this.things): Promise<void> {
    const found = byName(log.entries)
    const left = [...things]
    const work = async () => {
      for (let thing = left.pop(); thing !== undefined; thing = left.pop()) {
        const isLogged = found.has(toName(thing))
        await this.#checkThing(
          client,
          thing,
          thing.state === 'doubtful' ? isLogged : thing.state === 'revoked',
        )
        if (thing.state === 'doubtful') await this.#settle(client, thing, isLogged)
      }
    }
    await Promise.all(Array.from({ length: AT_ONCE }, work))
  }

  async #checkThing(client: Client, { kind, made, token, state }: Thing, isRevoked: boolean): Promise<void> {
    const [shown, asBearer, told] = await Promise.all([
      whenNotBusy(() => client.show(made.header)),
      whenNotBusy(() => client.bearer(token)),
      whenNotBusy(() => client.introspect(token)),
    ])
    // The credential of a revoked token lives on; the token of a revoked credential does not.
    const expected = isRevoked ? [kind === 'token' ? 200 : 401, 401, false] : [200, 200, true]
    const answered = [shown.status, asBearer.status, told.body.active]
    if (String(answered) === String(expected)) return
    const isLetIn =
      isRevoked &&
      ((kind !== 'token' && shown.status === 200) || asBearer.status === 200 || told.body.active !== false)
    this.fault(
      isLetIn && state === 'revoked' ? 'accepted' : 'half',
      `a ${state} ${kind} (logged or revoked: ${isRevoked}) was answered ${answered}`,
    )
  }

  async #settle(client: Client, thing: Thing, isLogged: boolean): Promise<void> {
    const again = await whenNotBusy(() => revoke(client, thing))
    const wasRevoked =
      thing.kind === 'token' ? again.body.revoked === false : again.body.already_revoked === true
    if (again.status !== 200 || wasRevoked !== isLogged) {
      this.fault(
        'half',
        `${toName(thing)} in the log: ${isLogged}; revoked again: ${JSON.stringify(again.body)}`,
      )
    }
    if (thing.kind !== 'token') thing.place = { epoch: again.body.epoch, seq: again.body.seq }
    thing.state = 'revoked'
  }
}

const BUSY_MS_MAX = 30_000

/** Busy is an honest answer, and says nothing of what was asked. */
async function whenNotBusy(ask: () => Promise<Told>): Promise<Told> {
  const untilMs = performance.now() + BUSY_MS_MAX
  for (;;) {
    const told = await ask()
    if (told.status !== 503 || performance.now() > untilMs) return told
    await pause(50)
  }
}

export function revoke(client: Client, { kind, made, token }: Thing): Promise<Told> {
  if (kind === 'user') return client.revokeUser(made.ppid)
  return kind === 'credential' ? client.revokeCredential(made.id) : client.revokeToken(token)
}

/** What the entry of its revocation is found under. */
function toName({ kind, made, token }: Thing): string {
  const name = kind === 'user' ? made.ppid : kind === 'credential' ? made.id : tokenSha256(token)
  return `${ENTRY_KINDS[kind]} ${name}`
}

function byName(entries: readonly LoggedEntry[]): Map<string, LoggedEntry[]> {
  const found = new Map<string, LoggedEntry[]>()
  for (const entry of entries) {
    const { ppid, credential_id, token_sha256 } = entry.body
    const name = `${entry.kind} ${ppid ?? credential_id ?? token_sha256}`
    const same = found.get(name)
    if (same === undefined) found.set(name, [entry])
    else same.push(entry)
  }
  return found
}
