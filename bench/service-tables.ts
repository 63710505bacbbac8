import type { DurableRow } from './service-durable.ts'
import type { StartUpRow } from './service-start-up.ts'
import type { HttpRow } from './stage.ts'
import { formatNumber, formatPercent, formatTable } from './table.ts'

export interface ServiceRows {
  readonly http: readonly HttpRow[]
  readonly durable: readonly DurableRow[]
  readonly startUp: readonly StartUpRow[]
}

/** The tables of the service; those of parts that were not measured are left out. */
export function formatService({ http, durable, startUp }: ServiceRows): string {
  const tables: string[] = []
  if (http.length > 0) {
    tables.push(formatHttp('service, 64 connections', http))
  }
  if (durable.length > 0) {
    tables.push(
      formatTable(durable, [
        { title: 'durable', text: ({ name }) => name },
        { title: 'connections', align: 'right', text: ({ connections }) => String(connections) },
        { title: 'a second', align: 'right', text: ({ perSecond }) => formatNumber(perSecond) },
        { title: 'p50 ms', align: 'right', text: ({ p50Ms }) => formatNumber(p50Ms) },
        { title: 'p99 ms', align: 'right', text: ({ p99Ms }) => formatNumber(p99Ms) },
      ]),
    )
  }
  if (startUp.length > 0) {
    tables.push(
      formatTable(startUp, [
        { title: 'start-up', text: ({ name }) => name },
        { title: 's', align: 'right', text: ({ seconds }) => formatNumber(seconds) },
        { title: 'CPU s', align: 'right', text: ({ cpuSeconds }) => formatNumber(cpuSeconds) },
        { title: 'MB', align: 'right', text: ({ rssMb }) => formatNumber(rssMb) },
        { title: 'MB at most', align: 'right', text: ({ rssMbMax }) => formatNumber(rssMbMax) },
      ]),
    )
  }
  return tables.join('\n\n')
}

/** Requests a second of servers side by side. */
export function formatHttp(title: string, rows: readonly HttpRow[]): string {
  return formatTable(rows, [
    { title, text: ({ name }) => name },
    { title: 'requests/s', align: 'right', text: ({ us }) => formatNumber(1e6 / us) },
    { title: '× bare', align: 'right', text: ({ ratio }) => formatNumber(1 / ratio) },
    { title: 'spread', align: 'right', text: ({ spread }) => formatPercent(spread) },
    { title: 'quiet', align: 'right', text: ({ quietUs }) => formatNumber(1e6 / quietUs) },
    { title: '× bare', align: 'right', text: ({ quietRatio }) => formatNumber(1 / quietRatio) },
    { title: 'CPU µs', align: 'right', text: ({ cpuUs }) => formatNumber(cpuUs) },
    { title: '× bare', align: 'right', text: ({ cpuRatio }) => formatNumber(1 / cpuRatio) },
    { title: 'notes', text: ({ note }) => note },
  ])
}
