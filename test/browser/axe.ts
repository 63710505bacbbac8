import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { AxeResults, RunOptions } from 'axe-core'
import type { Page } from 'playwright-core'

const SOURCE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const ALL: RunOptions = {
  runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'],
  resultTypes: ['violations'],
}
const COLORS: RunOptions = {
  runOnly: { type: 'rule', values: ['color-contrast', 'link-in-text-block'] },
  resultTypes: ['violations'],
}

/**
 * What axe finds wrong on the page as it is shown now: by all rules, or by those that depend on
 * colours. The context of the page must have `bypassCSP`, because axe is a script.
 */
export async function findAxeFaults(page: Page, rules: 'all' | 'colors'): Promise<readonly string[]> {
  // A document that was analyzed before has the script already.
  if (await page.evaluate('window.axe === undefined')) await page.evaluate(`${SOURCE}; undefined`)
  await page.evaluate(END_TRANSITIONS)
  const options = JSON.stringify(rules === 'all' ? ALL : COLORS)
  const violations = await page.evaluate<AxeResults['violations']>(
    `axe.run(document, ${options}).then(({ violations }) => violations)`,
  )
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`)
}

/** Runs in the page: otherwise text has a colour between light and dark. One can start another. */
const END_TRANSITIONS = `for (let rounds = 0; rounds < 10; rounds++)
  for (const one of document.getAnimations()) if (one instanceof CSSTransition) one.finish()`

/** By how many pixels the page is wider than its window. */
export function findOverflow(page: Page): Promise<number> {
  // The place that is kept for a scroll bar counts as part of the page.
  return page.evaluate(
    'Math.max(0, document.documentElement.scrollWidth - document.documentElement.clientWidth)',
  )
}
