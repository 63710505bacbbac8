import { createSealer } from '../../src/sealing/sealer.ts'
import { resealStore } from '../../src/store/maintenance.ts'

/**
 * A change of the master key that stops in the middle of its transaction, says so, and waits to be
 * killed. To be run as a process: `half-way-process.ts <store as JSON> <old key in hex> <after so
 * many texts>`.
 */
const [store = '', old = '', count = ''] = process.argv.slice(2)
const [from, to] = [createSealer(Buffer.from(old, 'hex')), createSealer(Buffer.alloc(32, 'a new key'))]
let left = Number(count)

await resealStore(JSON.parse(store), {
  from: from.keyName,
  reseal(purpose, sealed) {
    if (left-- === 0) {
      console.log('half way')
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
    }
    return to.seal(purpose, from.open(purpose, sealed))
  },
  masterKeySeal: to.seal('master-key', to.keyName),
  context: { actor: 'operator', atMs: Date.now(), requestId: undefined },
})
