// Preloaded by a test: says on the standard error, when the process ends, which modules were loaded.
import { registerHooks } from 'node:module'

const loaded = new Set()
registerHooks({
  load(url, context, next) {
    loaded.add(url)
    return next(url, context)
  },
})
process.on('exit', () => process.stderr.write(`\nLOADED ${JSON.stringify([...loaded])}\n`))
