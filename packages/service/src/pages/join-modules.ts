/** The text of a module of `browser/`, by its file name. */
export type ReadModule = (name: string) => string

const IMPORT = /^import\s*(?:\{([^}]*)\}\s*from\s*)?'\.\/([\w.-]+)';?$/gm
const EMPTY_EXPORT = /^export \{\s*\};?$/gm
const EXPORT = /^export (?=(?:async function\*?|function\*?|const|class) (\w+))/gm

/**
 * Joins a module and all that it imports into one script, so that a browser needs one request and
 * not a chain of them. It knows just what the modules of `browser/` use: named imports of each
 * other, and exports of functions and constants. A test loads every result.
 */
export function joinModules(entry: string, read: ReadModule): string {
  const joined = new Map<string, string>()
  const add = (name: string): void => {
    if (joined.has(name)) return
    // Marks it, so that a circle of imports ends.
    joined.set(name, '')
    const source = read(name)
    const imports = [...source.matchAll(IMPORT)].map(([, names = '', from = '']) => ({ names, from }))
    for (const { from } of imports) add(from)
    const bound = imports
      .map(({ names, from }) => ({ from, names: names.replaceAll(/\s+as\s+/g, ': ').trim() }))
      .filter(({ names }) => /\w/.test(names))
      .map(({ names, from }) => `const {${names}} = ${toVariable(from)}\n`)
    const exported = [...source.matchAll(EXPORT)].map(([, found]) => found)
    const body = bound.join('') + shorten(strip(source, name))
    joined.delete(name)
    joined.set(
      name,
      name === entry
        ? body
        : `const ${toVariable(name)} = (() => {\n${body}return { ${exported.join(', ')} }\n})()\n`,
    )
  }
  add(entry)
  return [...joined.values()].join('')
}

function strip(source: string, name: string): string {
  const stripped = source.replaceAll(IMPORT, '').replaceAll(EMPTY_EXPORT, '').replaceAll(EXPORT, '')
  const [left] = /^(?:import|export)\b.*/m.exec(stripped) ?? []
  if (left !== undefined) throw new Error(`${name} cannot be joined because of: ${left}`)
  return stripped
}

function toVariable(name: string): string {
  return `$${name.replaceAll(/\W/g, '_')}`
}

/** Without comments on lines of their own, indentation and empty lines. */
function shorten(source: string): string {
  return source
    .replaceAll(/^\s*\/\*\*[\s\S]*?\*\/$/gm, '')
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('//'))
    .map((line) => `${line}\n`)
    .join('')
}
