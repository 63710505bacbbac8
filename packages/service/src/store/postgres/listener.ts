import { connect, queryWith, type Sql } from './connect.ts'

/** Hears of appends on any node. Only a hint: what it misses, the next poll finds. */
export interface Listener {
  close(): Promise<void>
}

const AGAIN_MS = 500

/**
 * Goes on trying by itself. `onConnect` is called whenever the connection is there, the first time
 * and again after it was lost.
 */
export function openListener(url: string, onAppend: () => void, onConnect: () => void): Listener {
  let sql: Sql
  let timer: NodeJS.Timeout | undefined
  let isClosed = false

  const listen = () => {
    timer = undefined
    const mine = connect({ url, max: 1, onNotify: onAppend, onClose: () => again(mine) })
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
