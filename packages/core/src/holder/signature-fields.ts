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

/** A signature with our tag. Not verified. */
export interface ClaimedProof {
  /** The covered components, without duplicates. */
  readonly components: readonly string[]
  readonly parameters: ReadonlyMap<string, BareItem>
  /** Components and parameters as in the signature base. */
  readonly signatureParams: string
  readonly signature: Uint8Array
}

/**
 * Finds the signature with our tag. Returns `proof_required` if there is none, and `proof_invalid`
 * if there are two or if the two fields are too long, malformed or inconsistent. Ignores signatures
 * with other tags.
 */
export function findClaimedProof(request: HolderRequest): ClaimedProof | Denial {
  const inputLines = request.header('signature-input') ?? []
  const signatureLines = request.header('signature') ?? []
  if (inputLines.length === 0) return proofRequired()
  if (countChars(inputLines) + countChars(signatureLines) > SIGNATURE_FIELDS_CHARS_MAX)
    return deny(
      'proof_invalid',
      `Signature-Input and Signature together have more than ${SIGNATURE_FIELDS_CHARS_MAX} characters. Sign fewer components.`,
    )

  const inputs = parseStrictDictionary(inputLines)
  if (inputs === undefined)
    return deny(
      'proof_invalid',
      'Signature-Input is malformed. Send a strictly serialised dictionary with unique labels (RFC 9651).',
    )
  if (inputs.size > SIGNATURES_MAX)
    return deny('proof_invalid', `The request has too many signatures. Send at most ${SIGNATURES_MAX}.`)

  const ours = [...inputs].filter(([, [, parameters]]) => parameters.get('tag') === PROOF_TAG)
  const [first, second] = ours
  if (first === undefined) return proofRequired()
  if (second !== undefined)
    return deny('proof_invalid', `The request has two signatures with tag="${PROOF_TAG}". Send exactly one.`)
  const [label, input] = first
  if (!isInnerList(input))
    return deny(
      'proof_invalid',
      'Signature-Input does not list the covered components. List them in parentheses.',
    )

  const components = parseComponents(input[0])
  if (components === undefined)
    return deny(
      'proof_invalid',
      `The covered components are invalid. List at most ${COMPONENTS_MAX}, each once, as strings without parameters.`,
    )

  const signatures = parseStrictDictionary(signatureLines)
  if (signatures === undefined)
    return deny(
      'proof_invalid',
      'Signature is malformed. Send a strictly serialised dictionary with unique labels (RFC 9651).',
    )
  const [signature, parameters] = signatures.get(label) ?? []
  if (!(signature instanceof Uint8Array) || parameters?.size !== 0 || signature.length !== SIGNATURE_BYTES)
    return deny(
      'proof_invalid',
      `Signature does not match Signature-Input. Send ${SIGNATURE_BYTES} bytes under the same label.`,
    )

  return { components, parameters: input[1], signatureParams: serializeInnerList(input), signature }
}

function proofRequired(): Denial {
  return deny(
    'proof_required',
    `The credential is holder-bound, but the request is not signed. Sign it with the holder key (RFC 9421, tag="${PROOF_TAG}").`,
  )
}

function countChars(lines: readonly string[]): number {
  return lines.reduce((sum, line) => sum + line.length, 0)
}

/**
 * Component parameters (`;req`, `;sf`, `;key`, `;bs`, `;tr`, `;name`) change the meaning of a name,
 * so none is accepted: `"@method";req` must not replace `"@method"`.
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
