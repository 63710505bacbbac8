import { createInterface } from 'node:readline/promises'
import { stripVTControlCharacters, styleText } from 'node:util'

type Style = Parameters<typeof styleText>[0]

/** Where a command writes: results to the standard output, all else to the standard error. */
export interface Terminal {
  readonly env: Readonly<Record<string, string | undefined>>
  /** Whether the result is for programs. */
  readonly isJson: boolean
  /** Whether there is a person at a terminal who can be asked. */
  readonly canAsk: boolean
  /** Whether a line on the standard error can be drawn over. */
  readonly canRedraw: boolean
  /** A result: with `--json` the facts, otherwise words. */
  result(facts: unknown, words: () => string): void
  /** One of many results, each on a line of its own, so that a reader need not wait for the end. */
  item(facts: unknown, words: () => string): void
  /** A result that is written out already. */
  line(text: string): void
  /** Bytes as they are. */
  raw(bytes: Uint8Array): void
  /** What is worth knowing beside the result. */
  note(text: string): void
  /**
   * A line that the next one is drawn over; nothing without a terminal. `undefined` clears it.
   */
  progress(text: string | undefined): void
  /** Colours for a terminal, of a result or of a note: the two may go to different places. */
  paint(style: Style, text: string, where?: 'result' | 'note'): string
  /** Yes only when the answer is yes. */
  ask(question: string): Promise<boolean>
}

export interface TerminalOptions {
  readonly env: NodeJS.ProcessEnv
  readonly stdin: NodeJS.ReadStream
  readonly stdout: NodeJS.WriteStream
  readonly stderr: NodeJS.WriteStream
  readonly isJson: boolean
  readonly hasColor: boolean
  readonly hasInput: boolean
}

const COLUMNS_DEFAULT = 80
const CLEAR_LINE = '\r\u001b[K'

/** A terminal on real streams. Does nothing yet. */
export function createTerminal(options: TerminalOptions): Terminal {
  const { env, stdin, stdout, stderr, isJson, hasColor, hasInput } = options
  const canRedraw = stderr.isTTY === true && !isJson && env.TERM !== 'dumb'
  let isDrawn = false
  const clear = () => {
    if (isDrawn) stderr.write(CLEAR_LINE)
    isDrawn = false
  }
  const write = (stream: NodeJS.WriteStream, text: string) => {
    clear()
    stream.write(`${text}\n`)
  }
  const say = (text: string) => {
    if (text !== '') write(stdout, text)
  }
  return {
    env,
    isJson,
    canAsk: hasInput && stdin.isTTY === true && stderr.isTTY === true,
    canRedraw,
    result: (facts, words) => (isJson ? write(stdout, jsonText(facts, 2)) : say(words())),
    item: (facts, words) => (isJson ? write(stdout, jsonText(facts)) : say(words())),
    line: (text) => write(stdout, text),
    raw(bytes) {
      clear()
      stdout.write(bytes)
    },
    note: (text) => write(stderr, text),
    progress(text) {
      if (!canRedraw) return
      clear()
      if (text === undefined) return
      // A line that wraps could not be drawn over. Some terminals say that they have no width at
      // all.
      stderr.write(stripVTControlCharacters(text).slice(0, (stderr.columns || COLUMNS_DEFAULT) - 1))
      isDrawn = true
    },
    paint: (style, text, where = 'result') =>
      hasColor ? styleText(style, text, { stream: where === 'result' ? stdout : stderr }) : text,
    async ask(question) {
      clear()
      const reader = createInterface({ input: stdin, output: stderr })
      try {
        return /^\s*y(?:es)?\s*$/i.test(await reader.question(`${question} [y/N] `))
      } finally {
        reader.close()
      }
    },
  }
}

/**
 * Text that others wrote, made fit for a terminal: what would move the cursor, change colours or
 * turn the direction of writing is shown as an escape. Line breaks are kept with `lines`.
 */
export function visible(text: string, { lines = false } = {}): string {
  return text.replaceAll(lines ? UNSAFE_BUT_LINES : UNSAFE, toEscape)
}

const UNSAFE = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g
const UNSAFE_BUT_LINES =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g

function toEscape(char: string): string {
  return `\\u${(char.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`
}

/** `[████····]`, as much of it filled as is done. */
export function barText(part: number, width = 20): string {
  const filled = Math.round(Math.min(Math.max(part, 0), 1) * width)
  return `[${'█'.repeat(filled)}${'·'.repeat(width - filled)}]`
}

/**
 * JSON that is safe to print: the same value, with the same characters escaped that `visible`
 * escapes.
 */
export function jsonText(value: unknown, indent?: number): string {
  return JSON.stringify(value, null, indent).replaceAll(UNSAFE_BUT_LINES, toEscape)
}

/** Rows under their headings, aligned. Empty when there is no row. */
export function table(
  headings: readonly string[],
  rows: readonly (readonly (string | number | null | undefined)[])[],
): string {
  if (rows.length === 0) return ''
  const cells = [
    headings.map((heading) => heading.toUpperCase()),
    ...rows.map((row) => row.map((cell) => visible(String(cell ?? '-')))),
  ]
  const widths = headings.map((_, i) => Math.max(...cells.map((row) => countColumns(row[i] ?? ''))))
  return cells
    .map((row) =>
      row
        .map((cell, i) => padded(cell, widths[i] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

/** One fact on each line, its name first. Undefined ones are left out; a list is joined. */
export function facts(pairs: readonly (readonly [name: string, value: unknown])[]): string {
  const shown = pairs.filter(([, value]) => value !== undefined)
  const width = Math.max(0, ...shown.map(([name]) => name.length))
  return shown.map(([name, value]) => `${name.padEnd(width)}  ${factText(value)}`).join('\n')
}

function factText(value: unknown): string {
  if (value === null) return '-'
  if (Array.isArray(value))
    return value.length === 0 ? '-' : value.map((one) => visible(String(one))).join(' ')
  return visible(typeof value === 'object' ? JSON.stringify(value) : String(value))
}

function padded(text: string, width: number): string {
  return text + ' '.repeat(Math.max(width - countColumns(text), 0))
}

/** Code points; wide and combining characters are rare in what is listed here. */
function countColumns(text: string): number {
  return [...text].length
}
