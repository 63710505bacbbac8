import { writeArchive } from '../../src/audit-archive/archive-file.ts'

/** Writes an archive of a megabyte to the directory that its argument names. */
async function* lines(): AsyncGenerator<string> {
  for (let i = 0; i < 1000; i++)
    yield JSON.stringify({ type: 'row', id: `audit_${i}`, filling: 'x'.repeat(1000) })
}
const [, , directory = ''] = process.argv
try {
  await writeArchive(directory, { number: 1, previousSha256: '0'.repeat(64), writtenAtMs: 0 }, lines())
  process.stdout.write('written')
} catch (fault) {
  process.stdout.write((fault as NodeJS.ErrnoException).code ?? 'no code')
}
