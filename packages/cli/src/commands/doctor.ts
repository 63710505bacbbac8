import { existsSync } from 'node:fs'
import type { ExitCode, Given, Verb } from '../command.ts'
import type { Finding } from '../doctor/finding.ts'
import { omitUndefined } from '../input/option-values.ts'
import { NoServiceGiven, orUsageError, resolveTarget, type Target } from '../service/connection.ts'
import { type Terminal, visible } from '../terminal/output.ts'

export const doctor: Verb = {
  shares: ['site', 'service'],
  options: [
    ['--config <file>', 'also check the installation on this machine with this settings file'],
    [
      '--data-dir <directory>',
      'also check the installation with its data in this directory; default: ./data, if it exists',
    ],
    ['--no-local', 'check only the service, not this machine'],
  ],
  examples: [
    ['countersign doctor', 'check the service of this directory, or that of COUNTERSIGN_URL'],
    [
      'countersign doctor --url https://id.example --site shop.example',
      'check it as clients reach it, through every proxy',
    ],
    [
      'countersign doctor --config /srv/countersign/countersign.json',
      'check the machine that it runs on as well',
    ],
  ],
  about: [
    'Over HTTP it checks whether the service responds and is ready. It compares the two clocks. It looks for headers that proxies remove, a feed that proxies buffer, a stale view, failing webhooks and lagging verifiers. It also prints the pins of the current and the next feed key, to paste into guards.',
    'On this machine it checks the settings, file modes, and whether a start could use the store: write access, durability settings, the version of its schema and the master key. It also checks the disk and the time on record. It reads the store beside a running service. Run it as the user of the service, because it checks the access of the user that runs it.',
    'Without --url, COUNTERSIGN_URL and the data of a development start it checks only this machine, and says so.',
    'It changes nothing. It takes up to ten seconds, because it waits for heartbeats. The exit code is 3 when something is wrong, and 5 when the service does not respond.',
  ],
  async run(given, at) {
    const target = await resolveTarget(given, at, 'site').catch((fault: unknown) => {
      if (fault instanceof NoServiceGiven && isLocal(given, at)) return undefined
      throw fault
    })
    const local = isLocal(given, at) ? await checkLocal(given, at) : []
    const remote =
      target === undefined ? { findings: [NOT_CHECKED], isReached: true } : await checkRemote(target, at)
    at.progress(undefined)
    const findings = [...local, ...remote.findings]
    const problems = findings.filter(({ level }) => level === 'problem')
    at.result({ ok: problems.length === 0, findings }, () =>
      findings.map((finding) => findingText(finding, at)).join('\n'),
    )
    if (!at.isJson)
      at.note(
        problems.length === 0
          ? 'No problems found.'
          : `${problems.length} ${problems.length === 1 ? 'problem' : 'problems'}.`,
      )
    if (!remote.isReached) return 5 satisfies ExitCode
    return problems.length === 0 ? 0 : 3
  },
}

const NOT_CHECKED: Finding = {
  check: 'service',
  level: 'skipped',
  detail: 'Not checked. Give --url to check the running service.',
}

const MARKS = {
  ok: ['ok', 'green'],
  warning: ['warn', 'yellow'],
  problem: ['FAIL', 'red'],
  skipped: ['skip', 'dim'],
} as const

function findingText({ check, level, detail, fix }: Finding, at: Terminal): string {
  const [mark, style] = MARKS[level]
  const [first = '', ...more] = visible(detail, { lines: true }).split('\n')
  return [
    `${at.paint(style, mark.padEnd(4))}  ${check.padEnd(12)}  ${first}`,
    ...more.map((line) => `${' '.repeat(20)}${line}`),
    ...(fix === undefined ? [] : [`${' '.repeat(20)}${at.paint('bold', 'fix:')} ${visible(fix)}`]),
  ].join('\n')
}

/** Whether this machine has an installation to check. */
function isLocal(given: Given, { env }: Terminal): boolean {
  if (given.has('no-local')) return false
  return (
    given.text('config') !== undefined ||
    given.text('data-dir') !== undefined ||
    [
      'COUNTERSIGN_CONFIG',
      'COUNTERSIGN_DATA_DIR',
      'COUNTERSIGN_DATABASE_URL',
      'COUNTERSIGN_DATABASE_URL_FILE',
    ].some((name) => env[name] !== undefined) ||
    existsSync('data/countersign.db')
  )
}

async function checkLocal(given: Given, at: Terminal): Promise<readonly Finding[]> {
  at.progress('Checking this machine')
  const { checkInstallation } = await import('@countersign/service')
  const flags = Object.entries(
    omitUndefined({ config: given.text('config'), 'data-dir': given.text('data-dir') }),
  )
  return checkInstallation({ flags, env: at.env })
}

async function checkRemote(
  found: Target,
  at: Terminal,
): Promise<{ readonly findings: readonly Finding[]; readonly isReached: boolean }> {
  const { checkAddress, checkHeaders, checkReach, checkReady, isPlainToOthers } = await import(
    '../doctor/http-checks.ts'
  )
  const { PLAIN_HTTP, createClient } = await import('@countersign/sdk')
  const baseUrl = found.baseUrl.replace(/\/+$/, '')
  // Plain http is allowed here, because the check `tls` reports it. No key is sent over it.
  const isPlain = isPlainToOthers(baseUrl)
  const apiKey = isPlain ? undefined : found.apiKey
  const target = { ...found, baseUrl, apiKey }
  const { siteId, dev } = found
  const client = orUsageError(() =>
    createClient({
      baseUrl,
      retriesMax: 0,
      [PLAIN_HTTP]: true,
      ...omitUndefined({ apiKey }),
    }),
  )
  at.progress(`Checking ${baseUrl}`)
  const { findings: reach, isReached } = await checkReach(target)
  if (!isReached) return { findings: reach, isReached }
  const findings = [...reach]
  const add = async (name: string, check: () => Promise<Finding | readonly Finding[]>) => {
    at.progress(`Checking ${name}`)
    try {
      findings.push(...[await check()].flat())
    } catch (fault) {
      findings.push({
        check: name,
        level: 'problem',
        detail: fault instanceof Error ? fault.message : String(fault),
        fix: 'Run it again. If it fails again, read the log of the service.',
      })
    }
  }
  const { checkHolderProof, checkIssuerKeys, checkKey, checkVerifierClocks, checkVerifiers, checkWebhooks } =
    await import('../doctor/site-checks.ts')
  const { checkFeed } = await import('../doctor/feed-check.ts')
  const { checkPins } = await import('../doctor/pin-check.ts')
  await add('ready', () => checkReady(target))
  await add('address', () => checkAddress(target))
  await add('headers', () => checkHeaders(target))
  await add('pins', () => checkPins(target))
  await add('holder proof', () => checkHolderProof(baseUrl, dev))
  if (siteId === undefined || apiKey === undefined) {
    findings.push({
      check: 'site',
      level: 'skipped',
      detail: isPlain
        ? 'Checking the feed, webhooks and verifiers needs a key, which is not sent over plain http.'
        : 'Checking the feed, webhooks and verifiers needs --site and a key.',
    })
    return { findings, isReached }
  }
  await add('key', () => checkKey(client, siteId))
  await add('feed', () => checkFeed(target))
  if (findings.some(({ check, level }) => check === 'key' && level === 'ok')) {
    await add('webhooks', () => checkWebhooks(client, siteId))
    await add('issuers', () => checkIssuerKeys(client, siteId))
    await add('verifiers', () => checkVerifiers(client, siteId))
    await add('clocks', () => checkVerifierClocks(client, siteId))
  }
  return { findings, isReached }
}
