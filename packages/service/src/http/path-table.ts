import type { MountedEndpoint } from './respond.ts'

/** Which methods a path is there for; none when there is no such path. */
export type PathTable = (path: string) => readonly string[]

export function createPathTable(mounted: readonly MountedEndpoint[]): PathTable {
  const byTemplate = new Map<string, Set<string>>()
  for (const { path, method } of mounted) {
    const methods = byTemplate.get(path) ?? new Set()
    methods.add(method)
    // RFC 9110 §9.3.2: what can be got can be asked for its headers alone.
    if (method === 'GET') methods.add('HEAD')
    byTemplate.set(path, methods)
  }
  const table = [...byTemplate].map(([template, methods]) => ({
    pattern: patternOf(template),
    methods: [...methods],
  }))
  return (path) => table.find(({ pattern }) => pattern.test(path))?.methods ?? []
}

function patternOf(template: string): RegExp {
  const segments = template
    .split('/')
    .map((segment) => (segment.startsWith('{') ? '[^/]+' : segment.replaceAll('.', '\\.')))
  return new RegExp(`^${segments.join('/')}$`)
}

/** The same path as the router writes it. */
export function routerPath(template: string): string {
  return template.replaceAll(/\{(\w+)\}/g, ':$1')
}
