import { connect, queryWith, type Sql } from './connect.ts'

/**
 * Receives notifications of appends on any node. Only a hint: the next poll finds what it misses.
 */
export interface Listener {
  close(): Promise<void>
}

const AGAIN_MS = 500

/** Reconnects by itself. Calls `onConnect` after each connection, also the first. */
export function openListener(
  url: string,
  onAppend: (position?: number) => void,
  onConnect: () => void,
): Listener {
  let sql: Sql
  let timer: NodeJS.Timeout | undefined
  let isClosed = false

  const listen = () => {
    timer = undefined
    const onNotify = (_channel: string, payload: string) => onAppend(toPosition(payload))
    const mine = connect({ url, max: 1, onNotify, onClose: () => again(mine) })
    sql = mine
    queryWith(mine)('LISTEN countersign_log').then(onConnect, () => again(mine))
  }
  const again = (mine: Sql) => {
    if (isClosed || timer !== undefined || mine !== sql) return
    mine.end({ timeout: 0 }).catch(() => {})
    timer = setTimeout(listen, AGAIN_MS)
    timer.unref()
  }
  listen()
  return {
    async close() {
      isClosed = true
      clearTimeout(timer)
      await sql.end({ timeout: 1 })
    },
  }
}

/** Undefined for one of an earlier version, or of another program. */
function toPosition(payload: string): number | undefined {
  return /^\d{1,15}$/.test(payload) ? Number(payload) : undefined
}
