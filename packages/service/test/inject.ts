import lightMyRequest, { type InjectOptions, type Response } from 'light-my-request'
import type { App } from '../src/app.ts'

/** Sends a request to an app without a socket. */
export function inject({ server }: Pick<App, 'server'>, request: InjectOptions): Promise<Response> {
  return lightMyRequest((message, response) => void server.emit('request', message, response), request)
}
