import type { ApiRequest } from './call.ts'

const SAFE = /^(?!=)[\w.:@/=,+%-]+$/

/**
 * One word for a POSIX shell: the shell reads exactly this text. Control characters are replaced,
 * because a terminal acts on them before the shell sees the quotes. No text of ours has one; a text
 * of the address may.
 */
export function quote(text: string): string {
  const shown = text.replaceAll(/\p{Cc}/gu, '\ufffd')
  return SAFE.test(shown) ? shown : `'${shown.replaceAll("'", `'\\''`)}'`
}

/** The call as a command. The key comes from the environment, so that it is in no history. */
export function toCurl(request: ApiRequest, origin: string): string {
  const { method = 'GET', path, query = {}, body, reason, waitSeconds } = request
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) if (value !== undefined) search.set(name, String(value))
  const url = `${origin}${path}${search.size === 0 ? '' : `?${search}`}`
  return [
    `curl -sS ${method === 'GET' ? '' : `-X ${method} `}${quote(url)}`,
    `-H "X-API-Key: $COUNTERSIGN_KEY"`,
    ...(reason === undefined ? [] : [`-H ${quote(`X-Reason: ${encodeURIComponent(reason)}`)}`]),
    ...(waitSeconds === undefined ? [] : [`-H ${quote(`Prefer: wait=${waitSeconds}`)}`]),
    ...(body === undefined
      ? []
      : [`-H 'Content-Type: application/json'`, `--data-raw ${quote(JSON.stringify(body))}`]),
  ].join(' \\\n  ')
}

/** A value of an option: left out when it is undefined, repeated when it is a list. */
type OptionValue = string | number | boolean | readonly string[] | undefined

/**
 * A command of the command line from its words and options. A word that begins like an option comes
 * last, after `--`: it may be a text of the address, such as `--url=…`.
 */
export function toCli(words: readonly string[], options: Readonly<Record<string, OptionValue>> = {}): string {
  const flags = Object.entries(options).flatMap(([name, value]) => {
    if (value === undefined || value === false) return []
    if (value === true) return [`--${name}`]
    const values = Array.isArray(value) ? value : [value]
    return values.map((each) => toFlag(name, String(each)))
  })
  const all = words.map(quote)
  const at = words.findIndex((word) => word.startsWith('-'))
  const last = at < 0 ? [] : ['--', ...all.splice(at)]
  return ['countersign', ...all, ...flags, ...last].join(' ')
}

/** A value that begins like an option is joined to its own with `=`. */
function toFlag(name: string, value: string): string {
  return value.startsWith('-') ? quote(`--${name}=${value}`) : `--${name} ${quote(value)}`
}
