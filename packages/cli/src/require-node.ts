const MAJOR_MIN = 22

/** Ends the process with 2, and says what to do, when this Node is too old to run the command. */
export function requireNode(version: string = process.versions.node): void {
  if (Number.parseInt(version, 10) >= MAJOR_MIN) return
  console.error(
    `countersign needs Node ${MAJOR_MIN} or later, and this is ${version}. In a clone of the repository, npm ci has installed a newer one: put npx before node.`,
  )
  process.exit(2)
}
