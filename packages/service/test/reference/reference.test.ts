import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  type Answer,
  type Endpoint,
  type EndpointId,
  endpointList,
  endpoints,
  examples,
  problemCodes,
  problemDetailsSchema,
  problems,
} from '@countersign/core/contract'
import { describe, expect, test } from 'vitest'
import type * as z from 'zod'
import { measurements } from '../../src/front/measurements.ts'
import { areas, toEndpointUrl } from '../../src/reference/areas.ts'
import {
  createExampleRequest,
  examplePathParameters,
  exampleQuery,
} from '../../src/reference/example-requests.ts'
import { prettyJson } from '../../src/reference/pretty-json.ts'
import {
  findProblemStatus,
  findReferencePage,
  renderProblem,
  renderProblems,
} from '../../src/reference/reference.ts'
import { referenceEntries } from '../../src/reference/search-entries.ts'
import { toYaml } from '../../src/reference/to-yaml.ts'

const BASE = 'https://id.example'
const NAMES = { baseUrl: BASE, siteId: 'blue-door.example' }
const read = (url: string) => String(findReferencePage(url, NAMES)?.().body)
const readProblems = (query: string) => String(renderProblems(findProblemStatus(query), BASE).body)
const ENTITIES: Record<string, string> = { quot: '"', lt: '<', gt: '>', '#x27': "'", amp: '&' }
const toText = (markup: string) =>
  markup
    .replaceAll(/<[^>]*>/g, '')
    .replaceAll(/&#(\d+);/g, (_, code) => String.fromCharCode(Number(code)))
    .replaceAll(/&(quot|lt|gt|#x27|amp);/g, (_, name) => ENTITIES[name] ?? '')
/** The texts of the examples on a page, by the label of their tab. */
const readExamples = (markup: string) =>
  [...markup.matchAll(/data-name="([^"]*)">[\s\S]*?<code[^>]*>([\s\S]*?)<\/code>/g)].map(
    ([, label = '', code = '']) => [toText(label), toText(code)] as const,
  )
const ids = endpointList.map(({ id }) => id)

describe('the API reference', () => {
  test('has every endpoint in one area, and in the index', () => {
    expect(areas.flatMap(({ endpoints: own }) => own.map(({ id }) => id)).toSorted()).toEqual(ids.toSorted())
    const index = read('/docs/api')
    for (const { id, summary } of endpointList) {
      expect(index).toContain(`href="${toEndpointUrl(id)}"`)
      expect(toText(index)).toContain(summary)
    }
  })

  test.each(ids)('%s has a page with everything that the contract says', (id) => {
    const { method, path, request, answers, problems: own, permissions = [] } = endpoints[id] as Endpoint
    const markup = read(toEndpointUrl(id))
    const text = toText(markup.replaceAll('<wbr>', ''))
    expect(markup).toMatch(/<title>[^<]+ · Countersign<\/title>/)
    expect(text).toContain(`${method} ${path}`)
    for (const name of permissions) expect(text).toContain(name)
    for (const code of own) expect(markup).toContain(`href="/problems/${code}"`)
    for (const status of Object.keys(answers)) expect(text).toContain(status)
    for (const schema of [request.params, request.query, request.body].filter((one) => one !== undefined))
      for (const name of memberNames(schema)) expect(text, name).toContain(name)
    // Nothing of a schema is left unread, and no value is shown as an object.
    expect(text).not.toMatch(/\[object |undefined\b|\$ref/)
    expect(markup.match(/<h1/g)).toHaveLength(1)
  })

  test.each(ids)('%s has examples that its schemas accept', (id) => {
    const endpoint = endpointList.find((one) => one.id === id) as (typeof endpointList)[number]
    const { request, answers } = endpoint as Endpoint
    const accept = (schema: z.ZodType | undefined, value: unknown) =>
      expect(schema?.safeParse(value).error, JSON.stringify(value)).toBeUndefined()
    if (request.params !== undefined) accept(request.params, examplePathParameters(endpoint))
    if (request.query !== undefined) accept(request.query, exampleQuery(endpoint))
    const { curl } = createExampleRequest(endpoint, BASE)
    const [, body] = / -d '([\s\S]*)'$/.exec(curl) ?? []
    if (request.body !== undefined && !request.form) accept(request.body, JSON.parse(String(body)))
    expect(curl).toMatch(/^curl /)
    expect(curl).toContain(BASE)

    const [[status = '', answer] = ['', undefined]] = Object.entries(answers) as [string, Answer][]
    for (const [label, text] of readExamples(read(toEndpointUrl(id)))) {
      const [, mark, shown] = /^Response: (✓|✕) (\d+)/.exec(label) ?? []
      if (mark === '✕') {
        const problem = problemDetailsSchema.parse(JSON.parse(text))
        expect(String(problem.status)).toBe(shown)
      } else if (mark === '✓') {
        expect(shown).toBe(status)
        if (answer?.body !== undefined)
          accept(answer.body, JSON.parse(text.replace(/^event: .*\ndata: /, '')))
      }
    }
  })

  test('fills the address of the service and its site into examples', () => {
    expect(toText(read(toEndpointUrl('create_offer')))).toContain(`${BASE}/wallet#offer=`)
    for (const { id } of endpointList) {
      const examplesOfPage = readExamples(read(toEndpointUrl(id))).map(([, text]) => text)
      expect(examplesOfPage.join(), id).not.toContain('auth.example/')
      if (id !== 'create_site') expect(examplesOfPage.join(), id).not.toMatch(/(?<![.\w])shop\.example/)
    }
    expect(toText(read(toEndpointUrl('cut_off_site')))).toContain(
      'countersign cut-off site blue-door.example',
    )
    expect(toText(read(toEndpointUrl('create_site')))).toContain('shop.example')
  })

  test.each(ids)('%s has the same content as Markdown', (id) => {
    const { method, path, request, problems: own } = endpoints[id] as Endpoint
    const page = findReferencePage(`${toEndpointUrl(id)}.md`, NAMES)?.()
    const text = String(page?.body)
    expect(page?.contentType).toBe('text/markdown; charset=utf-8')
    expect(text).toMatch(/^# .+\n\n/)
    expect(text).toContain(`\n${method} \`${path}\`\n`)
    for (const schema of [request.params, request.query, request.body].filter((one) => one !== undefined))
      for (const name of memberNames(schema)) expect(text, name).toContain(`- \`${name}\``)
    for (const code of own) expect(text).toContain(`[\`${code}\`](${BASE}/problems/${code})`)
    for (const [, code] of readExamples(read(toEndpointUrl(id))))
      expect(text).toContain(`\n${code}\n\`\`\`\n`)
    // Neither a tag nor an entity is left outside of the examples.
    expect(text.replaceAll(/```[\s\S]*?```/g, 'example')).not.toMatch(/<\/?[a-z]|&#?\w+;|\n{3}|[ \t]\n/)
  })

  test('says who may call an endpoint in the console, and when that needs a recent sign-in', () => {
    expect(toText(read(toEndpointUrl('cut_off_site')))).toMatch(/signed in within 5 minutes/)
    expect(toText(read(toEndpointUrl('revoke_user')))).not.toMatch(/signed in within 5 minutes/)
    expect(toText(read(toEndpointUrl('revoke_user')))).toContain('responder, admin, operator')
  })

  test('knows no other addresses, and can be searched', () => {
    for (const other of [
      '/docs/api/',
      '/docs/api/nothing',
      '/docs/api/revoke_user',
      '/docs/api/__proto__',
      '/docs/api/nothing.md',
      '/docs/api/revoke-user.md.md',
    ])
      expect(findReferencePage(other, NAMES)).toBeUndefined()
    expect(referenceEntries.map(({ url }) => url)).toEqual([
      ...ids.map(toEndpointUrl),
      ...problemCodes.map((code) => `/problems/${code}`),
    ])
  })
})

describe('the problem pages', () => {
  test.each(problemCodes)('%s says what a person and a developer can do', (code) => {
    const markup = String(renderProblem(code, BASE).body)
    const { status, meaning, remedy } = problems[code]
    const text = toText(markup.replaceAll('<wbr>', ''))
    for (const part of [String(status), code, meaning, remedy, 'If you were using', 'Retry'])
      expect(text).toContain(part)
    expect(markup).toMatch(/<a class="button primary" href="\/(?:wallet|console|docs\/guides\/for-users)"/)
    const [example] = readExamples(markup).filter(([label]) => label.startsWith('Example'))
    expect(problemDetailsSchema.parse(JSON.parse(String(example?.[1]))).code).toBe(code)
  })

  test('are listed, all or by status', () => {
    const listed = (query: string) =>
      [...readProblems(query).matchAll(/<tr><td[^>]*>\d+<\/td><td[^>]*><a href="\/problems\/(\w+)"/g)].map(
        ([, code]) => code,
      )
    expect(listed('')).toEqual([...problemCodes])
    expect(listed('?status=403')).toEqual(problemCodes.filter((code) => problems[code].status === 403))
    for (const query of ['?status=418', '?status=', '?status=403&status=4', '?status=%00', '?x=1'])
      expect([problemCodes.length, listed('?status=403').length]).toContain(listed(query).length)
  })
})

describe('forms of a value', () => {
  test('YAML quotes what could be read as something else', () => {
    const hard = { on: [], '1': {}, 'a b': null, x: [[1, [2]], { y: [{ z: '- #: "' }], t: 'a\nb' }], n: -0.5 }
    expect(toYaml(hard)).toBe(
      [
        '"1": {}',
        '"on": []',
        '"a b": null',
        'x:',
        '  - - 1',
        '    - - 2',
        '  - "y":',
        '      - z: "- #: \\""',
        '    t: "a\\nb"',
        '"n": -0.5',
        '',
      ].join('\n'),
    )
  })
  test('JSON for readers is the same JSON', () => {
    for (const [id, values] of Object.entries(examples.answers) as [EndpointId, object[]][])
      for (const value of values) expect(JSON.parse(prettyJson(value)), id).toEqual(value)
  })
})

describe('the measured numbers of the front page', () => {
  const bench = readFileSync(join(import.meta.dirname, '../../../../bench/README.md'), 'utf8')
  test.each(measurements)('$name is in the results of the benchmark', ({ value, conditions, section }) => {
    const slug = (title: string) => title.toLowerCase().replaceAll(' ', '-')
    const own = bench.split(/^## /m).find((part) => slug(part.split('\n')[0] ?? '') === section)
    expect(own, section).toBeDefined()
    for (const number of [value, ...(conditions.match(/\d[\d,.]*(?= (?:µs|ms|per second))/g) ?? [])])
      expect(own).toContain(number)
  })
})

function memberNames(schema: z.ZodType): readonly string[] {
  const { shape, def } = schema as { shape?: object; def?: { shape?: object; in?: { shape?: object } } }
  return Object.keys(shape ?? def?.shape ?? def?.in?.shape ?? {})
}
