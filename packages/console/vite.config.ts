import { defineConfig } from 'vite'

/** The console is served under /console/ with a strict policy: no inline scripts, styles or data URLs. */
export default defineConfig({
  root: import.meta.dirname,
  base: '/console/',
  resolve: { conditions: ['countersign-source', 'module', 'browser'] },
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    outDir: 'dist',
    emptyOutDir: true,
    target: 'es2023',
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    reportCompressedSize: false,
    rolldownOptions: { output: { codeSplitting: { groups: [{ name: 'preact', test: /node_modules/ }] } } },
  },
})
