/**
 * Hides node:crypto before the core is loaded, so that the second test project uses WebCrypto. The
 * test runner needs everything else of Node.
 */
const { getBuiltinModule } = process
process.getBuiltinModule = ((id: string) =>
  /^(?:node:)?crypto$/.test(id) ? undefined : getBuiltinModule(id)) as typeof getBuiltinModule
