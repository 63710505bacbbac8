/** The parts of package-lock.json (version 3) that are looked at. */
export interface Lockfile {
  readonly lockfileVersion: number
  readonly packages: Readonly<Record<string, LockedPackage>>
}

export interface LockedPackage {
  readonly version?: string
  readonly resolved?: string
  readonly integrity?: string
  readonly link?: boolean
  readonly inBundle?: boolean
  readonly hasInstallScript?: boolean
  readonly optionalDependencies?: Readonly<Record<string, string>>
}

export interface RootPackage {
  readonly allowScripts?: Readonly<Record<string, boolean>>
  readonly dependencies?: Readonly<Record<string, string>>
  readonly devDependencies?: Readonly<Record<string, string>>
}

const PUBLIC_REGISTRY = 'https://registry.npmjs.org/'
const INTEGRITY = /^sha512-[A-Za-z0-9+/]{86}==$/
const EXACT_VERSION = /^\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?$/

/**
 * Everything in a lockfile that would let an install bring in what was not reviewed: content
 * without a hash, another place to download from, an install script that the root package does not
 * name, a platform's binary that is missing, a version that is not exact.
 */
export function lockfileFaults(lockfile: Lockfile, root: RootPackage): readonly string[] {
  if (lockfile.lockfileVersion !== 3) return [`the lockfile has version ${lockfile.lockfileVersion}, not 3`]
  const faults: string[] = []
  for (const [path, locked] of Object.entries(lockfile.packages)) {
    if (!path.includes('node_modules/')) continue
    if (locked.link === true) {
      if (lockfile.packages[locked.resolved ?? ''] === undefined)
        faults.push(`${path} links to something outside of the workspace`)
      continue
    }
    // The hash of a package covers what is bundled in it.
    if (locked.inBundle !== true && !INTEGRITY.test(locked.integrity ?? ''))
      faults.push(`${path} has no sha512 integrity`)
    if (locked.resolved !== undefined && !locked.resolved.startsWith(PUBLIC_REGISTRY))
      faults.push(`${path} is not from the public registry`)
    if (locked.hasInstallScript === true && root.allowScripts?.[toPackageName(path)] === undefined) {
      faults.push(`${path} has an install script that allowScripts in package.json does not name`)
    }
    for (const name of Object.keys(locked.optionalDependencies ?? {})) {
      if (!isLocked(name, path, lockfile))
        faults.push(`${path} has an optional dependency ${name} that is not locked`)
    }
  }
  for (const [name, range] of Object.entries({ ...root.dependencies, ...root.devDependencies })) {
    if (!EXACT_VERSION.test(range)) faults.push(`${name} is wanted as ${range}, not in one exact version`)
  }
  return faults
}

function toPackageName(path: string): string {
  return path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)
}

/**
 * Looks where Node would: in the package's own node_modules, then in those of each folder around
 * it.
 */
function isLocked(name: string, from: string, { packages }: Lockfile): boolean {
  for (let folder = from; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf('/')))) {
    const path = folder === '' ? `node_modules/${name}` : `${folder}/node_modules/${name}`
    if (packages[path] !== undefined) return true
    if (folder === '') return false
  }
}
