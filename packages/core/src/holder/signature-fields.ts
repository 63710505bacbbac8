import { type Denial, deny } from '../credential/denial.ts'
import {
  COMPONENTS_MAX,
  PROOF_TAG,
  SIGNATURE_BYTES,
  SIGNATURE_FIELDS_CHARS_MAX,
  SIGNATURES_MAX,
} from './profile.ts'
import type { HolderRequest } from './request.ts'
import {
  type BareItem,
  type Item,
  isInnerList,
  parseStrictDictionary,
  serializeInnerList,
} from './structured-field.ts'

/** A signature that claims to be a holder proof. Nothing about it has been verified. */
export interface ClaimedProof {
  /** The covered components, none twice. */
  readonly components: readonly string[]
  readonly parameters: ReadonlyMap<string, BareItem>
  /** Components and parameters as they stand in the signature base. */
  readonly signatureParams: string
  readonly signature: Uint8Array
}

/**
 * Finds the one signature with our tag among those of a request. `proof_required` when there is
 * none; `proof_invalid` when there are two, or when the two fields are too long, malformed or do
 * not fit together. Signatures with other tags are ignored.
 */
export function findClaimedProof(request: HolderRequest): ClaimedProof | Denial {
  const inputLines = request.header('signature-input') ?? []
  const signatureLines = request.header('signature') ?? []
  if (inputLines.length === 0) return none()
  if (countChars(inputLines) + countChars(signatureLines) > SIGNATURE_FIELDS_CHARS_MAX)
    return deny(
      'proof_invalid',
      `Signature-Input and Signature together may have ${SIGNATURE_FIELDS_CHARS_MAX} characters; sign fewer components`,
    )

  const inputs = parseStrictDictionary(inputLines)
  if (inputs === undefined)
    return deny(
      'proof_invalid',
      'Signature-Input is not a strictly serialised dictionary with unique labels (RFC 9651)',
    )
  if (inputs.size > SIGNATURES_MAX) return deny('proof_invalid', `send at most ${SIGNATURES_MAX} signatures`)

  const ours = [...inputs].filter(([, [, parameters]]) => parameters.get('tag') === PROOF_TAG)
  const [first, second] = ours
  if (first === undefined) return none()
  if (second !== undefined) return deny('proof_invalid', `send exactly one signature with tag="${PROOF_TAG}"`)
  const [label, input] = first
  if (!isInnerList(input))
    return deny('proof_invalid', 'Signature-Input must list the covered components in parentheses')

  const components = parseComponents(input[0])
  if (components === undefined)
    return deny(
      'proof_invalid',
      `cover at most ${COMPONENTS_MAX} components, each once, named by a string and without parameters of its own`,
    )

  const signatures = parseStrictDictionary(signatureLines)
  if (signatures === undefined)
    return deny(
      'proof_invalid',
      'Signature is not a strictly serialised dictionary with unique labels (RFC 9651)',
    )
  const [signature, parameters] = signatures.get(label) ?? []
  if (!(signature instanceof Uint8Array) || parameters?.size !== 0 || signature.length !== SIGNATURE_BYTES)
    return deny(
      'proof_invalid',
      `Signature must hold ${SIGNATURE_BYTES} bytes under the same label as Signature-Input`,
    )

  return { components, parameters: input[1], signatureParams: serializeInnerList(input), signature }
}

function none(): Denial {
  return deny(
    'proof_required',
    `sign the request with the key that the credential is bound to (RFC 9421, tag="${PROOF_TAG}")`,
  )
}

function countChars(lines: readonly string[]): number {
  return lines.reduce((sum, line) => sum + line.length, 0)
}

/**
 * Component parameters (`;req`, `;sf`, `;key`, `;bs`, `;tr`, `;name`) make a name mean something
 * else than it says, so none is taken: a `"@method";req` must not stand in for `"@method"`.
 */
function parseComponents(items: readonly Item[]): readonly string[] | undefined {
  if (items.length > COMPONENTS_MAX) return undefined
  const names = new Set<string>()
  for (const [name, parameters] of items) {
    if (typeof name !== 'string' || parameters.size > 0 || names.has(name)) return undefined
    names.add(name)
  }
  return [...names]
}
