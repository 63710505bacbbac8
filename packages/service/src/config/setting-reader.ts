import { type SettingName, secretSettings, settingNames } from './setting-names.ts'
import { readSettings, type SettingSources } from './settings.ts'

/**
 * Reads the settings of one start, one after the other, and collects every mistake, so that an
 * operator sees all of them at once. Messages never contain the value of a secret.
 */
export class SettingReader {
  readonly #texts: ReadonlyMap<SettingName, string>
  readonly #mistakes: string[] = []

  /** Throws a TypeError when the configuration file cannot be read. */
  constructor(sources: SettingSources) {
    this.#texts = readSettings(settingNames, secretSettings, sources, this.#mistakes)
  }

  /** The text of a setting as it was given. Undefined: it is not set. */
  text(name: SettingName): string | undefined {
    return this.#texts.get(name)
  }

  isSet(name: SettingName): boolean {
    return this.#texts.has(name)
  }

  /**
   * The value of a setting, or `fallback` if it is not set. When `parse` rejects its text, the
   * mistake says which value is `wanted`, and the fallback is returned.
   */
  value<T>(name: SettingName, fallback: T, parse: (text: string) => T | undefined, wanted: string): T {
    const text = this.#texts.get(name)
    if (text === undefined) return fallback
    const value = parse(text)
    if (value !== undefined) return value
    this.report(`${name} must be ${wanted}`)
    return fallback
  }

  integer(name: SettingName, fallback: number, min: number, max: number): number {
    const parse = (text: string) => parseInteger(text, min, max)
    return this.value(name, fallback, parse, `an integer from ${min} to ${max}`)
  }

  /** An integer or this word, which is also the default. */
  integerOr<Word extends string>(name: SettingName, word: Word, min: number, max: number): number | Word {
    const parse = (text: string) => (text === word ? word : parseInteger(text, min, max))
    return this.value<number | Word>(name, word, parse, `an integer from ${min} to ${max}, or ${word}`)
  }

  /** Adds a mistake. It must begin with the name of its setting. */
  report(mistake: string): void {
    this.#mistakes.push(mistake)
  }

  get mistakeCount(): number {
    return this.#mistakes.length
  }

  /** Throws a TypeError that lists all mistakes, if there are any. */
  requireNoMistakes(): void {
    if (this.#mistakes.length > 0)
      throw new TypeError(
        `These settings are invalid:\n${this.#mistakes.map((mistake) => `  - ${mistake}`).join('\n')}`,
      )
  }
}

function parseInteger(text: string, min: number, max: number): number | undefined {
  const isInRange = /^\d{1,9}$/.test(text) && Number(text) >= min && Number(text) <= max
  return isInRange ? Number(text) : undefined
}
