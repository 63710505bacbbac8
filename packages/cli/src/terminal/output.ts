import { createInterface } from 'node:readline/promises'
import { stripVTControlCharacters, styleText } from 'node:util'

type Style = Parameters<typeof styleText>[0]

/** Where a command writes: results to standard output, everything else to standard error. */
export interface Terminal {
  readonly env: Readonly<Record<string, string | undefined>>
  /** Whether results are printed as JSON. */
  readonly isJson: boolean
  /** Whether a person at a terminal can answer questions. */
  readonly canAsk: boolean
  /** Whether a line on standard error can be redrawn. */
  readonly canRedraw: boolean
  /** Prints a result: `facts` with `--json`, otherwise the text. */
  result(facts: unknown, words: () => string): void
  /** Prints one of many results, each as one line of JSON with `--json`. */
  item(facts: unknown, words: () => string): void
  /** Prints a result that is text already. */
  line(text: string): void
  /** Writes bytes unchanged. */
  raw(bytes: Uint8Array): void
  /** Prints information beside the result. */
  note(text: string): void
  /** Draws a line that the next output replaces; only on a terminal. `undefined` clears it. */
  progress(text: string | undefined): void
  /** Colours a text if its stream is a terminal. Results and notes have different streams. */
  paint(style: Style, text: string, where?: 'result' | 'note'): string
  /** True only if the answer is yes. */
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

/** A terminal on these streams. Writes nothing yet. */
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
      // A line that wraps cannot be redrawn. Some terminals report a width of 0.
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
 * Makes untrusted text safe for a terminal: characters that would move the cursor, change colours
 * or change the text direction are shown as escapes. `lines` keeps line breaks.
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

/** A progress bar: `[████····]` */
export function barText(part: number, width = 20): string {
  const filled = Math.round(Math.min(Math.max(part, 0), 1) * width)
  return `[${'█'.repeat(filled)}${'·'.repeat(width - filled)}]`
}

/** JSON that is safe to print: escapes the same characters as `visible`. */
export function jsonText(value: unknown, indent?: number): string {
  return JSON.stringify(value, null, indent).replaceAll(UNSAFE_BUT_LINES, toEscape)
}

/** An aligned table. Empty if there are no rows. */
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

/** One `name  value` per line. Omits undefined values, and joins lists with spaces. */
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

/** Counts code points: wide and combining characters are rare in these tables. */
function countColumns(text: string): number {
  return [...text].length
}
