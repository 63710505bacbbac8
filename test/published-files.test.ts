import { describe, expect, test } from 'vitest'
import { type PublishedFile, publishedFaults } from '../scripts/published-files.ts'

const good: readonly PublishedFile[] = [
  { path: 'package.json', text: '{}' },
  { path: 'README.md', text: 'Read me' },
  { path: 'LICENSE', text: 'Apache' },
  { path: 'src/index.ts', text: 'export const a = 1' },
  { path: 'dist/index.js', text: 'export const a = 1' },
  { path: 'dist/index.d.ts', text: 'export declare const a = 1' },
  { path: 'dist/index.js.map', text: '{"version":3,"sources":["../src/index.ts"],"mappings":""}' },
]
const having = (path: string, text: string) => [...good.filter((file) => file.path !== path), { path, text }]

/** What the service shows at /docs. */
const documented = [...good, { path: 'dist/documents-of-repository/docs/cli.md', text: '# The command' }]

describe('A244: what a package publishes', () => {
  test('is fine when it is the build, its sources and nothing else', () => {
    expect(publishedFaults(good, '/home/me/countersign')).toEqual([])
    expect(publishedFaults(documented, '/home/me/countersign')).toEqual([])
  })

  test.each([
    ['a test', having('test/index.test.ts', ''), 'test/index.test.ts is not expected'],
    ['an environment file', having('.env', 'A=1'), '.env is not expected'],
    ['an npm configuration', having('.npmrc', ''), '.npmrc is not expected'],
    ['a document elsewhere', having('dist/notes.md', ''), 'dist/notes.md is not expected'],
    ['a source in dist', having('dist/index.ts', ''), 'dist/index.ts is not expected'],
    ['no licence', good.filter(({ path }) => path !== 'LICENSE'), 'LICENSE is missing'],
    ['no build', good.filter(({ path }) => path !== 'dist/index.js'), 'has not been built'],
    [
      'a map with texts',
      having('dist/index.js.map', '{"sources":["../src/index.ts"],"sourcesContent":["x"]}'),
      'carries the text',
    ],
    [
      'a map to elsewhere',
      having('dist/index.js.map', '{"sources":["../../service/src/key.ts"]}'),
      'not in the package',
    ],
    ['an absolute map', having('dist/index.js.map', '{"sources":["/etc/key.ts"]}'), 'not in the package'],
    [
      'a path of the building machine',
      having('dist/index.js', '// /home/me/countersign/key.ts'),
      'the folder in which it was built',
    ],
    ['a private key', having('src/index.ts', `-----BEGIN ${'PRIVATE'} KEY-----`), 'looks like a secret'],
    [
      'a private JWK',
      having('src/index.ts', `{"kty":"OKP","d": "${'a'.repeat(43)}"}`),
      'looks like a secret',
    ],
    ['an API key', having('README.md', `svc_sk_${'a'.repeat(49)}`), 'looks like a secret'],
  ])('is refused with %s', (_, files, fault) => {
    expect(publishedFaults(files, '/home/me/countersign').join('\n')).toContain(fault)
  })
})
