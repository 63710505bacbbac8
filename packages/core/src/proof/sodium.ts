/** The part of sodium-native that is used. */
export interface Sodium {
  crypto_sign_verify_detached(signature: Uint8Array, data: Uint8Array, publicKey: Uint8Array): unknown
}

interface Process {
  readonly arch?: string
  getBuiltinModule?(id: string): unknown
}
interface NodeModule {
  createRequire(from: string): (name: string) => unknown
}

/**
 * Undefined if sodium-native is not installed or has no build for this machine. It is found at run
 * time from this file, so that bundlers ignore it.
 */
export function loadSodium(): Sodium | undefined {
  const { process } = globalThis as { process?: Process }
  try {
    const node = process?.getBuiltinModule?.('node:module') as NodeModule
    const found = node.createRequire(import.meta.url)('sodium-native') as Partial<Sodium>
    return typeof found.crypto_sign_verify_detached === 'function' ? (found as Sodium) : undefined
  } catch {
    return undefined
  }
}

/**
 * libsodium takes 0.5 of the time of OpenSSL 3.5 on x64 and 1.4 on arm64 (decision 105), so it is
 * only used on x64.
 */
export function isSodiumFaster(): boolean {
  return (globalThis as { process?: Process }).process?.arch === 'x64'
}
