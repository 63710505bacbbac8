/**
 * Makes this process look like a runtime without node:crypto, before the core is loaded: the second
 * test project runs with WebCrypto. Everything else of Node stays, because the test runner needs
 * it.
 */
const { getBuiltinModule } = process
process.getBuiltinModule = ((id: string) =>
  /^(?:node:)?crypto$/.test(id) ? undefined : getBuiltinModule(id)) as typeof getBuiltinModule
