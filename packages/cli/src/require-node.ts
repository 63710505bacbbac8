const MINIMUM = { major: 22, minor: 12 }

/** Exits with code 2 and says what to do when this version of Node is too old. */
export function requireNode(version: string = process.versions.node): void {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  if (major > MINIMUM.major || (major === MINIMUM.major && minor >= MINIMUM.minor)) return
  console.error(
    `countersign needs Node ${MINIMUM.major}.${MINIMUM.minor} or later; this is Node ${version}. In a clone of the repository, npm ci installs a newer one: run it with npx node.`,
  )
  process.exit(2)
}
