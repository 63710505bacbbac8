import { spawnSync } from 'node:child_process'
import { accessSync, constants, existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { type Browser, chromium } from 'playwright-core'

/** A wait only ends what hangs: a page can be slow on a machine that has much else to do. */
export const WAIT_MS_MAX = 90_000

/** Pictures prove nothing and take time, so they are only taken when a person asks for them. */
export const wantsPictures = process.env.PICTURES === '1'

/** `PAGE_LOOKS=all`: every page in every look, for `npm run page-looks`. */
export const wantsAllLooks = process.env.PAGE_LOOKS === 'all'

/**
 * A real Chromium: the one that CHROMIUM_PATH names, the one of this machine, or, where we are root
 * on Debian, one that is installed now. Undefined when there is none, said so loudly that skipped
 * tests are not taken for passed ones.
 */
export function findChromium(): string | undefined {
  const found = named() ?? onPath() ?? installed()
  if (found === undefined) {
    console.error(
      '\n*** NO CHROMIUM: every test of the pages in a browser is SKIPPED. Set CHROMIUM_PATH, or install the package "chromium-headless-shell" or "chromium". ***\n',
    )
  }
  return found
}

export async function openChromium(executablePath: string): Promise<Browser> {
  // As root, which is how containers run, Chromium has no sandbox of its own.
  const args = process.getuid?.() === 0 ? ['--no-sandbox'] : []
  const features = [...WITHOUT_FEATURES, ...WITHOUT_ADDRESS_BAR].join(',')
  return chromium.launch({
    executablePath,
    args: [...args, ...FEW_PROCESSES, '--disable-dev-shm-usage', `--disable-features=${features}`],
  })
}

/**
 * All pages of a context in one process. Otherwise each step from one site to another starts one:
 * 0.15 s of processor time instead of 0.09 s. What a site may do to another stays the same.
 */
const FEW_PROCESSES = ['--disable-site-isolation-trials', '--renderer-process-limit=1']

/**
 * The list of an address bar, which no test looks at. Chromium draws it as a page of its own in
 * every window, which takes more processor time than the pages of most tests: 1.1 s for each.
 */
const WITHOUT_ADDRESS_BAR = ['WebUIOmniboxPopup', 'WebUIOmniboxAimPopup']

/** What playwright-core switches off. The last switch of this name counts, so it is repeated. */
const WITHOUT_FEATURES = [
  'AvoidUnnecessaryBeforeUnloadCheckSync',
  'DestroyProfileOnBrowserClose',
  'HttpsUpgrades',
  'HttpsFirstBalancedModeAutoEnable',
  'LensOverlay',
  'MediaRouter',
  'PaintHolding',
  'ThirdPartyStoragePartitioning',
  'AvoidCorsURLLoaderRestartOnRedirect',
  'OptimizationHints',
  'NetworkTimeServiceQuerying',
  'AimEnabled',
  'PreconnectToSearch',
]

function named(): string | undefined {
  const { CHROMIUM_PATH: path } = process.env
  if (path !== undefined && !isProgram(path))
    throw new TypeError(`CHROMIUM_PATH is ${path}, where no program is`)
  return path
}

function onPath(): string | undefined {
  const folders = (process.env.PATH ?? '').split(delimiter)
  const places = NAMES.flatMap((name) => folders.map((folder) => join(folder, name)))
  return places.find(isProgram)
}

/**
 * The first has no windows, so it needs a fifth less processor time than the others for the same
 * tests. It is what Playwright uses by default.
 */
const NAMES = ['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome']

function installed(): string | undefined {
  if (process.getuid?.() !== 0 || !existsSync('/etc/debian_version')) return undefined
  const run = (...argv: readonly string[]) =>
    spawnSync('apt-get', argv, { stdio: 'ignore', timeout: INSTALL_MS_MAX }).status === 0
  const install = (name: string) => run('install', '-y', '--no-install-recommends', name)
  // Older releases of Debian, and what is made from it, have only the second.
  if (!run('update') || !(install('chromium-headless-shell') || install('chromium'))) return undefined
  return onPath()
}

const INSTALL_MS_MAX = 300_000

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return spawnSync(path, ['--version'], { timeout: WAIT_MS_MAX }).status === 0
  } catch {
    return false
  }
}
