import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { CHART, createGrowthChart } from '../scripts/growth-chart.ts'
import { drawGrowth } from '../scripts/growth-picture.ts'

test('the chart of the documentation is drawn from the measured figures', () => {
  expect(readFileSync(CHART, 'utf8'), 'draw it again: npm run growth-chart').toBe(createGrowthChart())
})

test('a line has its values beside its points, and other figures give another picture', () => {
  const draw = (last: number) =>
    drawGrowth('growth', [
      {
        title: 'Start',
        series: [
          {
            name: 'now',
            look: 'main',
            points: [
              [1000, 1.25],
              [1_000_000, last],
            ],
          },
          { name: 'nothing measured', look: 'before', points: [] },
        ],
      },
    ])
  expect(draw(2.71)).toContain('>2.7</text>')
  expect(draw(2.71)).not.toContain('nothing measured')
  expect(draw(27.1)).not.toBe(draw(2.71))
})

test('every text of the picture has at least 14 of 480 units, which is readable on a narrow screen', () => {
  const sizes = [...readFileSync(CHART, 'utf8').matchAll(/font-size="([\d.]+)"/g)].map(([, size]) =>
    Number(size),
  )
  expect(sizes.length).toBeGreaterThan(20)
  expect(Math.min(...sizes)).toBeGreaterThanOrEqual(14)
})
