import { hash } from 'node:crypto'

/** The id of an issuer for paths. It is derived from its name, so it is the same at every site. */
export function toIssuerId(issuer: string): string {
  return `iss_${hash('sha256', issuer, 'hex').slice(0, 26)}`
}

export function isIssuerId(value: string): boolean {
  return /^iss_[0-9a-f]{26}$/.test(value)
}
