import { median } from './measure.ts'
import type { DurableRow } from './service-durable.ts'
import type { StartUpRow } from './service-start-up.ts'
import type { HttpRow } from './stage.ts'
import { formatNumber, formatTable } from './table.ts'

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

function formatRange(values: readonly number[]): string {
  return `${formatNumber(Math.min(...values))}–${formatNumber(Math.max(...values))}`
}

/** CPU time of servers side by side. */
export function formatHttp(title: string, rows: readonly HttpRow[]): string {
  return formatTable(rows, [
    { title, text: ({ name }) => name },
    { title: 'CPU µs', align: 'right', text: ({ cpuUs }) => formatNumber(median(cpuUs)) },
    { title: 'of each process', text: ({ cpuUs }) => cpuUs.map(formatNumber).join(' ') },
    { title: '× bare', align: 'right', text: ({ ratios }) => formatNumber(median(ratios)) },
    { title: 'between', text: ({ ratios }) => formatRange(ratios) },
    { title: 'requests/s', align: 'right', text: ({ perSecond }) => formatNumber(perSecond) },
    { title: 'notes', text: ({ note }) => note },
  ])
}
