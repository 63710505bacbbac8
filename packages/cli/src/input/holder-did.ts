/** The did:key itself, or that of the private key in a file; undefined without a text. */
export async function loadHolderDid<Text extends string | undefined>(text: Text): Promise<Text | string> {
  if (text === undefined || text.startsWith('did:')) return text
  const { didKey } = await import('@countersign/core')
  const { readPrivateKey } = await import('../credential/read-credential.ts')
  return didKey((await readPrivateKey(text)).publicKey)
}
