import { existsSync } from 'node:fs'
import type { ExitCode, Given, Verb } from '../command.ts'
import type { Finding } from '../doctor/finding.ts'
import { orUsageError, resolveTarget, type Target } from '../service/connection.ts'
import { type Terminal, visible } from '../terminal/output.ts'

export const doctor: Verb = {
  shares: ['site', 'service'],
  options: [
    ['--config <file>', 'also look at the installation with this settings file, on this machine'],
    [
      '--data-dir <directory>',
      'also look at the installation with its data there; default: ./data, if there is one',
    ],
    ['--no-local', 'only look at the service that answers'],
  ],
  examples: [
    ['countersign doctor', 'the development start of this directory, or the service of COUNTERSIGN_URL'],
    [
      'countersign doctor --url https://id.example --site shop.example',
      'as a client sees it, through every proxy',
    ],
    ['countersign doctor --config /srv/countersign/countersign.json', 'the machine that it runs on as well'],
  ],
  about: [
    'Over HTTP: whether it answers and is ready, the two clocks, whether proxies cut headers or hold the feed back, how fresh what it knows is, webhooks that fail, verifiers that lag; it also prints the pins of the current and the next feed key, to paste into guards. On this machine: settings, modes of files, the store and whether its settings keep what is promised, the disk, the time on record. Changes nothing. Takes up to ten seconds, since heartbeats are waited for. Ends with 3 when something is wrong, with 5 when the service does not answer.',
  ],
  async run(given, at) {
    const place = await resolveTarget(given, at, 'site').catch((fault: unknown) => {
      if (isLocal(given, at)) return undefined
      throw fault
    })
    const local = isLocal(given, at) ? await checkLocal(given, at) : []
    const remote = place === undefined ? { findings: [], isReached: true } : await checkRemote(place, at)
    at.progress(undefined)
    const findings = [...local, ...remote.findings]
    const problems = findings.filter(({ level }) => level === 'problem')
    at.result({ ok: problems.length === 0, findings }, () =>
      findings.map((finding) => findingText(finding, at)).join('\n'),
    )
    if (!at.isJson)
      at.note(
        problems.length === 0
          ? 'Nothing is wrong that could be seen from here.'
          : `${problems.length} ${problems.length === 1 ? 'problem' : 'problems'}.`,
      )
    if (!remote.isReached) return 5 satisfies ExitCode
    return problems.length === 0 ? 0 : 3
  },
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

/** Whether this machine has an installation to look at. */
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
  at.progress('Looking at this machine')
  const { checkInstallation } = await import('@countersign/service')
  const flags = ['config', 'data-dir'].flatMap((name) => {
    const value = given.text(name)
    return value === undefined ? [] : [[name, value] as const]
  })
  return checkInstallation({ flags, env: at.env })
}

async function checkRemote(
  place: Target,
  at: Terminal,
): Promise<{ readonly findings: readonly Finding[]; readonly isReached: boolean }> {
  const { checkAddress, checkHeaders, checkReach, checkReady } = await import('../doctor/http-checks.ts')
  const { PLAIN_HTTP, createClient } = await import('@countersign/sdk')
  const target = { ...place, baseUrl: place.baseUrl.replace(/\/+$/, '') }
  // Its own checks say what is wrong with plain http.
  const client = orUsageError(() =>
    createClient({
      baseUrl: target.baseUrl,
      retriesMax: 0,
      [PLAIN_HTTP]: true,
      ...(place.apiKey === undefined ? {} : { apiKey: place.apiKey }),
    }),
  )
  at.progress(`Asking ${target.baseUrl}`)
  const { findings: reach, isReached } = await checkReach(target)
  if (!isReached) return { findings: reach, isReached }
  const findings = [...reach]
  const look = async (name: string, check: () => Promise<Finding | readonly Finding[]>) => {
    at.progress(`Looking at ${name}`)
    try {
      findings.push(...[await check()].flat())
    } catch (fault) {
      findings.push({
        check: name,
        level: 'problem',
        detail: fault instanceof Error ? fault.message : String(fault),
        fix: 'Ask again; if it stays so, look at the log of the service',
      })
    }
  }
  const { checkHolderProof, checkKey, checkVerifierClocks, checkVerifiers, checkWebhooks } = await import(
    '../doctor/site-checks.ts'
  )
  const { checkFeed } = await import('../doctor/feed-check.ts')
  const { checkPins } = await import('../doctor/pin-check.ts')
  await look('ready', () => checkReady(target))
  await look('address', () => checkAddress(target))
  await look('headers', () => checkHeaders(target))
  await look('pins', () => checkPins(target))
  await look('holder proof', () => checkHolderProof(target.baseUrl, place.dev))
  const { siteId } = place
  if (siteId === undefined || place.apiKey === undefined) {
    findings.push({
      check: 'site',
      level: 'skipped',
      detail: 'give --site and a key to have its feed, webhooks and verifiers looked at',
    })
    return { findings, isReached }
  }
  await look('key', () => checkKey(client, siteId))
  await look('feed', () => checkFeed(target))
  if (findings.some(({ check, level }) => check === 'key' && level === 'ok')) {
    await look('webhooks', () => checkWebhooks(client, siteId))
    await look('verifiers', () => checkVerifiers(client, siteId))
    await look('clocks', () => checkVerifierClocks(client, siteId))
  }
  return { findings, isReached }
}
