import type { MountedEndpoint } from './respond.ts'

/** The methods of a path; none when the path does not exist. */
export type PathTable = (path: string) => readonly string[]

export function createPathTable(mounted: readonly MountedEndpoint[]): PathTable {
  const byTemplate = new Map<string, Set<string>>()
  for (const { path, method } of mounted) {
    const methods = byTemplate.get(path) ?? new Set()
    methods.add(method)
    // RFC 9110 §9.3.2: every GET also answers HEAD.
    if (method === 'GET') methods.add('HEAD')
    byTemplate.set(path, methods)
  }
  const table = [...byTemplate].map(([template, methods]) => ({
    pattern: toPattern(template),
    methods: [...methods],
  }))
  return (path) => table.find(({ pattern }) => pattern.test(path))?.methods ?? []
}

function toPattern(template: string): RegExp {
  const segments = template
    .split('/')
    .map((segment) => (segment.startsWith('{') ? '[^/]+' : segment.replaceAll('.', '\\.')))
  return new RegExp(`^${segments.join('/')}$`)
}

/** The same path in the syntax of the router. */
export function routerPath(template: string): string {
  return template.replaceAll(/\{(\w+)\}/g, ':$1')
}
