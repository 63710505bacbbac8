import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { measure, median, quantile, type Slice, type Subject, summary } from '../bench/measure.ts'
import { summarizeRuns } from '../bench/runs.ts'
import { atLeastOfAll, compareAll } from '../bench/stage.ts'
import { formatNumber, formatPercent, formatTable } from '../bench/table.ts'
import { atLeast, atMost, formatVerdict } from '../bench/verdict.ts'

describe('the medians of a benchmark', () => {
  test('are the middle value, or half-way between the two middle ones, in whatever order they come', () => {
    expect(median([5, 1, 3])).toBe(3)
    expect(median([4, 1, 3, 2])).toBe(2.5)
    expect(quantile([40, 0, 10, 30, 20], 0.25)).toBe(10)
    expect(quantile([0, 10], 0.1)).toBeCloseTo(1)
  })

  test('are not a number where nothing was measured', () => {
    expect(median([])).toBeNaN()
  })

  test('leave the values as they were', () => {
    const values = [3, 1, 2]
    median(values)
    expect(values).toEqual([3, 1, 2])
  })
})

describe('the summary of a subject', () => {
  const slices: Slice[] = [
    { us: 20, unitBeforeUs: 10, unitAfterUs: 10 },
    { us: 200, unitBeforeUs: 100, unitAfterUs: 100 },
    { us: 40, unitBeforeUs: 20, unitAfterUs: 20 },
  ]

  test('compares each round with the unit of that round, so that slow rounds do not count more', () => {
    expect(summary(slices, [10, 100, 20])).toMatchObject({ us: 40, ratio: 2, spread: 0 })
  })

  test('is not moved by one interruption, be it of the subject or of the unit', () => {
    const interrupted = { us: 9000, unitBeforeUs: 10, unitAfterUs: 10 }
    const unitInterrupted = { us: 20, unitBeforeUs: 9000, unitAfterUs: 10 }
    expect(summary([...slices, interrupted], [10]).ratio).toBe(2)
    expect(summary([...slices, unitInterrupted], [10]).ratio).toBe(2)
  })

  test('compares with the unit on both sides', () => {
    expect(summary([{ us: 10, unitBeforeUs: 10, unitAfterUs: 20 }], [10]).ratio).toBe(0.75)
    expect(summary([{ us: 10, unitBeforeUs: 20, unitAfterUs: 10 }], [10]).ratio).toBe(0.75)
  })

  test('takes the quickest tenth of both for quiet', () => {
    const us = (n: number) => ({ us: n, unitBeforeUs: 1, unitAfterUs: 1 })
    const eleven = Array.from({ length: 11 }, (_, n) => us(100 + n))
    expect(summary(eleven, [50, 50.5, 60, 70, 80, 90, 91, 92, 93, 94, 95])).toMatchObject({
      quietUs: 101,
      quietRatio: 2,
    })
  })

  test('tells how far apart the middle half of the ratios lies', () => {
    const ratios = [1, 2, 3, 4, 5].map((us) => ({ us, unitBeforeUs: 1, unitAfterUs: 1 }))
    expect(summary(ratios, [1]).spread).toBeCloseTo(2 / 3, 1)
  })
})

describe('several processes of two servers', () => {
  test('are compared pair by pair, and the median decides', () => {
    const ratios = compareAll([100, 90], [100, 200, 125])
    expect(ratios).toEqual([1, 0.9, 0.5, 0.45, 0.8, 0.72])
    expect(atLeastOfAll('enough', 0.75, ratios)).toEqual({
      promise: 'enough',
      kept: true,
      value: 0.76,
      range: [0.45, 1],
    })
    expect(formatVerdict(atLeastOfAll('enough', 0.77, ratios))).toBe(
      'enough: NO (0.760; 0.450 to 1.00 between processes)',
    )
  })
})

describe('measuring side by side', () => {
  test('gives every subject a slice in every round, and the unit one between any two', async () => {
    const log: string[] = []
    const subject = (name: string): Subject => ({
      name,
      run: (times) => {
        log.push(name)
        for (let i = 0; i < times * 50; i++) Math.sqrt(i)
      },
    })
    const rounds: number[] = []
    const measured = await measure(subject('unit'), [subject('a'), subject('b')], {
      rounds: 4,
      sliceMs: 0.01,
      warmUpMs: 0,
      onRound: (done) => rounds.push(done),
    })
    expect(measured.map(({ name }) => name)).toEqual(['a', 'b'])
    expect(rounds).toEqual([0, 1, 2, 3, 4])
    // What one slice runs twice, once untimed, counts once here. The three warm-ups come before.
    const turns = log.filter((name, i) => i === 0 || name !== log[i - 1]).slice(3)
    expect(turns.filter((_, i) => i % 2 === 0)).toEqual(Array(9).fill('unit'))
    for (let round = 0; round < 4; round++)
      expect([turns[round * 4 + 1], turns[round * 4 + 3]].toSorted()).toEqual(['a', 'b'])
  })

  test('waits for subjects that answer later, one after the other', async () => {
    let running = 0
    const slow: Subject = {
      name: 'slow',
      async run() {
        expect(++running).toBe(1)
        await new Promise(setImmediate)
        running--
      },
    }
    await measure(slow, [slow], { rounds: 2, sliceMs: 0.01, warmUpMs: 0 })
    expect(running).toBe(0)
  })

  test('lets a subject that comes to a wrong result end the run', async () => {
    const wrong: Subject = { name: 'wrong', run: () => Promise.reject(new Error('refused')) }
    await expect(
      measure({ name: 'unit', run: () => {} }, [wrong], { rounds: 1, warmUpMs: 0 }),
    ).rejects.toThrow('refused')
  })
})

describe('the table', () => {
  test('aligns names to the left and numbers to the right, without blanks at the ends of lines', () => {
    const rows = [
      { name: 'raw', us: 152 },
      { name: 'something longer', us: 2140.4 },
    ]
    const table = formatTable(rows, [
      { title: 'name', text: ({ name }) => name },
      { title: 'µs', align: 'right', text: ({ us }) => formatNumber(us) },
      { title: 'notes', text: () => '' },
    ])
    expect(table.split('\n')).toEqual([
      'name                 µs  notes',
      '────────────────  ─────  ─────',
      'raw                 152',
      'something longer  2,140',
    ])
  })

  test.each([
    [0.02412, '0.0241'],
    [0.9999, '1.00'],
    [999.9, '1,000'],
    [1, '1.00'],
    [3.524, '3.52'],
    [15.25, '15.3'],
    [152.4, '152'],
    [2140.4, '2,140'],
    [-3.2, '-3.20'],
    [0, '0'],
    [Number.NaN, '–'],
  ])('writes %d as %s', (value, text) => {
    expect(formatNumber(value)).toBe(text)
  })

  test('writes parts as percent', () => {
    expect([formatPercent(0.123), formatPercent(1.5), formatPercent(Number.NaN)]).toEqual([
      '12 %',
      '150 %',
      '–',
    ])
  })
})

describe('a verdict', () => {
  test('is kept at the very limit and not beyond it', () => {
    expect([
      atMost('p', 2, 2).kept,
      atMost('p', 2, 2.01).kept,
      atLeast('p', 2, 2).kept,
      atLeast('p', 2, 1.99).kept,
    ]).toEqual([true, false, true, false])
  })

  test('is not kept where nothing was measured', () => {
    expect([atMost('p', 2, Number.NaN).kept, atLeast('p', 2, Number.NaN).kept]).toEqual([false, false])
  })

  test('says what came out', () => {
    expect(formatVerdict(atMost('cold ≤ 1.25 × raw', 1.25, 1.221, 1.2))).toBe(
      'cold ≤ 1.25 × raw: yes (1.22; 1.20 when quiet)',
    )
    expect(formatVerdict(atMost('cold ≤ 1.25 × raw', 1.25, 1.3))).toBe('cold ≤ 1.25 × raw: NO (1.30)')
  })
})

describe('several runs', () => {
  const run = (...verdicts: Parameters<typeof summarizeRuns>[0][number]['verdicts']) => ({
    machine: { loadAtStart: 1, loadAtEnd: 2 },
    verdicts,
  })

  test('show the median, how far they are apart, and how often a promise was kept', () => {
    const runs = [0.9, 0.5, 0.7].map((value) => run(atLeast('quick', 0.6, value), atMost('small', 1, 2)))
    expect(summarizeRuns(runs).split('\n').slice(2)).toEqual([
      '| quick | 0.700 | 0.500 to 0.900 | 2 of 3 |',
      '| small | 2.00 | 2.00 to 2.00 | no |',
    ])
  })

  test('say which promise was not measured in all of them', () => {
    const runs = [run(atMost('a', 1, 1)), run()]
    expect(summarizeRuns(runs)).toContain('| a | 1.00 | 1.00 to 1.00 (1 runs) | yes |')
  })
})

describe('the options of npm run bench', () => {
  const bench = (...argv: string[]) =>
    spawnSync(
      process.execPath,
      ['--conditions=countersign-source', join(import.meta.dirname, '../bench/run.ts'), ...argv],
      { encoding: 'utf8' },
    )

  test('--help lists them, and measures nothing', () => {
    const { status, stdout, stderr } = bench('--help')
    expect([status, stderr]).toEqual([0, ''])
    expect(stdout).toMatch(/^Usage: npm run bench -- \[options\]$/m)
    for (const name of ['only', 'json', 'sizes', 'postgres-sizes', 'verifiers', 'prepared'])
      expect(stdout).toMatch(new RegExp(`^  --${name} `, 'm'))
  })

  test.each([
    [['--nonsense'], "Unknown option '--nonsense'"],
    [['--only', 'speed'], '--only knows verify, jwt, view, service, sdk, growth; not speed'],
    [['--sizes', '10,x'], '--sizes needs whole numbers from 1 on, separated by commas'],
  ])('%j is a usage error', (argv, words) => {
    const { status, stdout, stderr } = bench(...argv)
    expect([status, stdout]).toEqual([2, ''])
    expect(stderr).toBe(`${words}\nMore: npm run bench -- --help\n`)
  })
})
