const MAJOR_MIN = 22

/** Exits with code 2 and says what to do when this version of Node is too old. */
export function requireNode(version: string = process.versions.node): void {
  if (Number.parseInt(version, 10) >= MAJOR_MIN) return
  console.error(
    `countersign needs Node ${MAJOR_MIN} or later; this is Node ${version}. In a clone of the repository, npm ci installs a newer one: run it with npx node.`,
  )
  process.exit(2)
}
