import { defineConfig } from 'vite'
import { languagePages } from './language-pages.ts'

/** What the first page loads. In one file, it is smaller than in twelve. */
const START =
  /console\/src\/(?:say|time|theme|router|keyboard|live|pages|api\/\w+|live\/[\w-]+|shell\/\w+|people\/(?:step-up|sign-in|passkey)|pages\/(?:sign-in|verifier-states)|revoke\/(?:state|counts|target)|components\/(?:state|icon|monogram|copy|fault|id))\.tsx?$/

/** The console is served under /console/ with a strict policy: no inline scripts, styles or data URLs. */
export default defineConfig({
  root: import.meta.dirname,
  base: '/console/',
  plugins: [languagePages()],
  json: { namedExports: false },
  resolve: { conditions: ['countersign-source', 'module', 'browser'] },
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    outDir: 'dist',
    emptyOutDir: true,
    target: 'es2023',
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    reportCompressedSize: false,
    rolldownOptions: {
      output: {
        chunkFileNames: ({ facadeModuleId }) =>
          `assets/${facadeModuleId?.includes('/languages/') ? 'language-' : ''}[name]-[hash].js`,
        codeSplitting: {
          groups: [
            { name: 'preact', test: /node_modules/ },
            { name: 'start', test: START },
          ],
        },
      },
    },
  },
})
