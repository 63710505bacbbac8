import { spawn, spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'

/** An nginx of our own. */
export interface NginxProcess {
  readonly url: string
  stop(): Promise<void>
}

/** The places where Debian and others put it are not on every path. */
const PATH = `${process.env.PATH}:/usr/sbin:/usr/local/sbin`
const READY_MS_MAX = 60_000

/** Why nginx cannot be used here; undefined when it can. */
export function whyNoNginx(): string | undefined {
  const built = builtWith()
  if (built === undefined) return 'nginx is not installed (Debian: apt-get install nginx-light)'
  return built.includes('http_auth_request_module') ? undefined : 'this nginx was built without auth_request'
}

/**
 * Starts one nginx process in that directory, without rights or files outside of it. `http` is what
 * stands in the http block, given the free port on loopback that it is to listen on. Rejects with
 * its complaint when it does not start.
 */
export async function startNginx(directory: string, http: (port: number) => string): Promise<NginxProcess> {
  const port = await freePort()
  const file = join(directory, `nginx-${port}.conf`)
  writeFileSync(file, configuration(http(port), `nginx-${port}.pid`))
  const child = spawn('nginx', ['-p', directory, '-c', file, '-e', 'stderr'], {
    env: { ...process.env, PATH },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const kill = () => void child.kill('SIGKILL')
  process.once('exit', kill)
  let complaint = ''
  child.stderr.on('data', (piece: Buffer) => (complaint += piece))
  let hasEnded = false
  const ended = new Promise<void>((resolve) => {
    child.once('error', () => resolve())
    child.once('close', () => resolve())
  }).then(() => {
    hasEnded = true
    process.off('exit', kill)
  })
  const url = `http://127.0.0.1:${port}`
  for (const endMs = Date.now() + READY_MS_MAX; ; await new Promise((resolve) => setTimeout(resolve, 20))) {
    if (hasEnded || Date.now() > endMs) {
      kill()
      throw new Error(`nginx did not start: ${complaint}`)
    }
    if (await answers(url)) break
  }
  return {
    url,
    stop: () => {
      child.kill('SIGTERM')
      return ended
    },
  }
}

function builtWith(): string | undefined {
  const { status, stderr } = spawnSync('nginx', ['-V'], { env: { ...process.env, PATH }, encoding: 'utf8' })
  return status === 0 ? stderr : undefined
}

function configuration(http: string, pidFile: string): string {
  const built = builtWith() ?? ''
  const modules = ['proxy', 'fastcgi', 'uwsgi', 'scgi'].filter(
    (name) => !built.includes(`without-http_${name}_module`),
  )
  return [
    'daemon off;',
    'master_process off;',
    `pid ${pidFile};`,
    'error_log stderr warn;',
    'events {}',
    'http {',
    'access_log off;',
    'client_body_temp_path body;',
    ...modules.map((name) => `${name}_temp_path ${name};`),
    http,
    '}',
  ].join('\n')
}

async function answers(url: string): Promise<boolean> {
  return fetch(url).then(
    async (answer) => (await answer.arrayBuffer(), true),
    () => false,
  )
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer().once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0))
    })
  })
}
