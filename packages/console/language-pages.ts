import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Plugin } from 'vite'

/** The folder with one file of words for each language. */
export const LANGUAGES: string = join(import.meta.dirname, 'languages')

const RIGHT_TO_LEFT = /^(?:ar|fa|he|ur)(?:-|$)/
const RIGHT_TO_LEFT_STYLES = readFileSync(join(import.meta.dirname, 'src/style/right-to-left.css'))
const NO_SCRIPT = /(?<=<noscript><p>)(.*?)(<code>.*?<\/code>)(.*?)(?=<\/p>)/

/** The words of the page itself, without which nothing else is shown. */
export function readNoScript(html: string): string {
  const [, before = '', , after = ''] = NO_SCRIPT.exec(html) ?? []
  return `${before}{command}${after}`
}

/**
 * Writes the page once more for each language, as `index.ar.html`: with its language and direction,
 * and with its words and styles among the files that the browser loads at once.
 */
export function languagePages(): Plugin {
  return {
    name: 'language-pages',
    enforce: 'post',
    generateBundle(_options, bundle) {
      const page = bundle['index.html']
      if (page?.type !== 'asset') throw new Error('there is no page')
      const styles = this.emitFile({ type: 'asset', name: 'right-to-left.css', source: RIGHT_TO_LEFT_STYLES })
      for (const file of Object.values(bundle)) {
        const id = file.type === 'chunk' ? (file.facadeModuleId ?? '') : ''
        const lang = /\/languages\/([\w-]+)\.json$/.exec(id)?.[1]
        if (lang === undefined) continue
        const isRightToLeft = RIGHT_TO_LEFT.test(lang)
        const links = [
          `<link rel="modulepreload" crossorigin href="/console/${file.fileName}">`,
          ...(isRightToLeft ? [`<link rel="stylesheet" href="/console/${this.getFileName(styles)}">`] : []),
        ]
        const source = toPage(String(page.source), lang, isRightToLeft ? 'rtl' : 'ltr', links)
        this.emitFile({ type: 'asset', fileName: `index.${lang}.html`, source })
      }
    },
  }
}

function toPage(html: string, lang: string, dir: string, links: readonly string[]): string {
  const words = JSON.parse(readFileSync(join(LANGUAGES, `${lang}.json`), 'utf8')) as Record<string, string>
  return html
    .replace('<html lang="en">', `<html lang="${lang}" dir="${dir}">`)
    .replace('</head>', `${links.join('\n')}\n</head>`)
    .replace(NO_SCRIPT, (text, _before, command: string) =>
      (words[readNoScript(html)] ?? text).replace('{command}', command),
    )
}
