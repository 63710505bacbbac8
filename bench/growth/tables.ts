import { type Column, formatNumber, formatTable } from '../table.ts'
import type { Cost } from './commands.ts'
import type { GrowthResult, GrowthRow } from './growth.ts'
import type { PostgresRow } from './measure-postgres.ts'

const MB = 1e6

type Figure<Row> = readonly [title: string, value: (row: Row) => number | undefined]

function columns<Row extends { readonly revocations: number }>(
  title: string,
  figures: readonly Figure<Row>[],
): readonly Column<Row>[] {
  return [
    { title, align: 'right', text: ({ revocations }) => revocations.toLocaleString('en') },
    ...figures.map(([name, value]) => ({
      title: name,
      align: 'right' as const,
      text: (row: Row) => formatNumber(value(row) ?? Number.NaN),
    })),
  ]
}

/** Seconds by the clock and of the processor. */
function costs<Row>(name: string, cost: (row: Row) => Cost | undefined): readonly Figure<Row>[] {
  return [
    [`${name} s`, (row) => cost(row)?.seconds],
    ['CPU s', (row) => cost(row)?.cpuSeconds],
  ]
}

function each({ revocations }: GrowthRow, bytes: number | undefined): number | undefined {
  return bytes && bytes / revocations
}

const disk: readonly Figure<GrowthRow>[] = [
  ['MB', ({ bytes }) => bytes / MB],
  ['bytes each', ({ bytes, revocations }) => bytes / revocations],
  ['with checkpoint', ({ bytesWithCheckpoint: bytes, revocations }) => bytes / revocations],
  ['after new-epoch', (row) => each(row, row.commands?.bytesAfterNewEpoch)],
]

const start: readonly Figure<GrowthRow>[] = [
  ...costs('first', ({ firstStart }: GrowthRow) => firstStart),
  ['later CPU s', ({ firstStart }) => firstStart.laterCpuSeconds],
  ...costs('start', (row: GrowthRow) => row.start),
  ['later CPU s', (row) => row.start.laterCpuSeconds],
  ['RSS MB', (row) => row.start.rssMb],
  ['bytes each', ({ viewBytesEach }) => viewBytesEach],
]

const verifier: readonly Figure<GrowthRow>[] = [
  ['snapshot MB', ({ snapshot }) => snapshot.bytes / MB],
  ...costs('one', ({ snapshot }: GrowthRow) => snapshot),
  ...costs('at once', ({ crowd }: GrowthRow) => crowd),
  ...costs('guard', ({ guard }: GrowthRow) => guard),
  ['bytes each', ({ guardBytesEach }) => guardBytesEach],
]

const commands: readonly Figure<GrowthRow>[] = [
  ...costs('audit-log', ({ commands }: GrowthRow) => commands?.auditLog),
  ...costs('backup', ({ commands }: GrowthRow) => commands?.backup),
  ...costs('new-epoch', ({ commands }: GrowthRow) => commands?.newEpoch),
  ...costs('restore', ({ commands }: GrowthRow) => commands?.restore),
]

const cut: readonly Figure<GrowthRow>[] = [
  ...costs('cut-log', (row: GrowthRow) => row.commands?.cut),
  ['disk, bytes each', (row) => each(row, row.commands?.cut?.bytes)],
  ...costs('start', (row: GrowthRow) => row.commands?.cut?.start),
  ['snapshot MB', (row) => row.commands?.cut && row.commands.cut.snapshot.bytes / MB],
  ...costs('guard', (row: GrowthRow) => row.commands?.cut?.guard),
]

const postgresFigures: readonly Figure<PostgresRow>[] = [
  ...costs('first', ({ firstStart }: PostgresRow) => firstStart),
  ...costs('start', (row: PostgresRow) => row.start),
  ...costs('audit-log', ({ auditLog }: PostgresRow) => auditLog),
  ...costs('new-epoch', ({ newEpoch }: PostgresRow) => newEpoch),
  ...costs('fail-over', ({ failOver }: PostgresRow) => failOver),
]

/** The tables of the section. */
export function formatGrowth({ rows, postgres }: GrowthResult): string {
  const first = rows[0]
  const requests: readonly Figure<GrowthRow>[] = [
    ['revoke ms', ({ revokeMs }) => revokeMs],
    ['× the smallest', ({ revokeMs }) => revokeMs / (first?.revokeMs ?? Number.NaN)],
    ['page of ?status=revoked ms', ({ listMs }) => listMs],
    ['× the smallest', ({ listMs }) => listMs / (first?.listMs ?? Number.NaN)],
  ]
  const at = first === undefined ? '' : `, ${first.crowd.verifiers} verifiers at once`
  const tables = [
    formatTable(rows, columns('disk', disk)),
    formatTable(rows, columns('service', start)),
    formatTable(rows, columns(`verifiers${at}`, verifier)),
    formatTable(rows, columns('requests', requests)),
    formatTable(rows, columns('commands', commands)),
    formatTable(rows, columns('after a cut', cut)),
  ]
  if (postgres.length > 0) tables.push(formatTable(postgres, columns('PostgreSQL', postgresFigures)))
  return tables.join('\n\n')
}
