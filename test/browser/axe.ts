import { AxeBuilder } from '@axe-core/playwright'
import type { Page } from 'playwright-core'

const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']

/**
 * What axe finds wrong on the page, in this colour scheme. All rules in light; in dark only those
 * that depend on colours. The context of the page must have `bypassCSP`, because axe is a script.
 */
export async function findAxeFaults(page: Page, colorScheme: 'light' | 'dark'): Promise<readonly string[]> {
  // These pages have no frames. Without this mode each analysis opens a second page for its result.
  const axe = new AxeBuilder({ page }).setLegacyMode()
  const { violations } = await (colorScheme === 'light'
    ? axe.withTags(RULES)
    : axe.withRules(['color-contrast', 'link-in-text-block'])
  ).analyze()
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`)
}

/** By how many pixels the page is wider than its window. */
export function findOverflow(page: Page): Promise<number> {
  // The place that is kept for a scroll bar counts as part of the page.
  return page.evaluate(
    'Math.max(0, document.documentElement.scrollWidth - document.documentElement.clientWidth)',
  )
}
