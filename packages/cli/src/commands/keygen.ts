import { UsageError, type Verb } from '../command.ts'
import { facts } from '../terminal/output.ts'
import { openNewPrivate } from '../terminal/private-file.ts'

const ALGORITHMS = ['Ed25519', 'P-256'] as const

export const keygen: Verb = {
  words: [['<file>', 'the file for the private key, as a JWK; - for standard output']],
  options: [['--algorithm <name>', `${ALGORITHMS.join(' or ')}; default: ${ALGORITHMS[0]}`]],
  examples: [
    ['countersign keygen holder.jwk', 'print the public key, for issue --holder-key'],
    ['countersign keygen - --json | vault kv put secret/agent -', 'write it to a secret store'],
  ],
  about: ['Only the owner can read the file. An existing file is never overwritten.'],
  async run(given, at) {
    const file = given.word(0)
    const name = given.text('algorithm') ?? ALGORITHMS[0]
    const algorithm = ALGORITHMS.find((each) => each === name)
    if (algorithm === undefined) throw new UsageError(`--algorithm must be ${ALGORITHMS.join(' or ')}`)
    const { didKey, exportPrivateJwk, generatePrivateKey } = await import('@countersign/core')
    const key = await generatePrivateKey(algorithm, { extractable: true })
    const jwk = await exportPrivateJwk(key)
    const did = didKey(key.publicKey)
    const { multikey } = key.publicKey
    if (file === '-') {
      at.result({ did, multikey, private_jwk: jwk }, () => JSON.stringify(jwk))
      if (!at.isJson) at.note(facts([['public key', did]]))
      return 0
    }
    openNewPrivate(file).write(`${JSON.stringify(jwk)}\n`, 'Nothing was created. Choose another name.')
    at.result({ did, multikey, file }, () => did)
    at.note(`The private key is in ${file}. Only you can read it, and it cannot be recovered.`)
    return 0
  },
}
