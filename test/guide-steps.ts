import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'

const root = join(import.meta.dirname, '..')

/** A command of a guide and the answer that stands behind it. */
export interface GuideStep {
  readonly command: string
  readonly answer: string
  /** Whether the answer is JSON; otherwise it is text. */
  readonly isJson: boolean
}

/**
 * Every command that is followed by its answer, in the order of the text. Blocks with a second word
 * behind their language are something else.
 */
export function guideSteps(file: string): readonly GuideStep[] {
  const text = readFileSync(join(root, file), 'utf8')
  const blocks = [...text.matchAll(/^```(\w+)( \w+)?\n(.*?)^```$/gms)].map(
    ([, language, note, body = '']) => ({ language, note, body }),
  )
  return blocks.flatMap(({ language, note, body }, i) => {
    const next = blocks[i + 1]
    if (language !== 'sh' || note !== undefined) return []
    const hasAnswer = next?.language === 'json' || next?.language === 'text'
    return [{ command: body, answer: hasAnswer ? next.body : '', isJson: next?.language === 'json' }]
  })
}

/** A text in which `…` matches anything, as a regular expression. */
export function textPattern(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&').replaceAll('…', '[^]+?')
}

/**
 * What an answer must be like: `…` matches anything. So do the age of what a decision rests on
 * and positions in the log, which depend on what a reader did before.
 */
export function answerPattern(value: unknown, key = ''): unknown {
  if (key === 'age_ms' || (key === 'seq' && value !== null)) return expect.any(Number)
  if (typeof value === 'string' && value.includes('…'))
    return expect.stringMatching(new RegExp(`^${textPattern(value)}$`))
  if (Array.isArray(value)) return value.map((item) => answerPattern(item))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, answerPattern(member, name)]),
  )
}
