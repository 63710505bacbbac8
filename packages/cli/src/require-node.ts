/**
 * Exits with code 2 and says what to do when this version of Node is too old. Before 22.14, and
 * from 23.0 to 23.5, the embedded store would crash the process: they lack Node-API 10.
 */
export function requireNode(version: string = process.versions.node): void {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  if (major > 23 || (major === 22 && minor >= 14) || (major === 23 && minor >= 6)) return
  console.error(`countersign needs Node 22.14 or later; this is Node ${version}. Install Node 22, 24 or 26.`)
  process.exit(2)
}
