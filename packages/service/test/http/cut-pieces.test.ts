import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { expect, it } from 'vitest'
import { sendStream } from '../../src/http/send-stream.ts'

it('an answer in pieces is cut with a reset when its signal fires, whatever the reader has not taken (B12)', async () => {
  const stop = new AbortController()
  let isEnded = false
  let isLetGo = false
  const pieces = async function* () {
    try {
      for (;;) yield Buffer.alloc(65_536)
    } finally {
      isEnded = true
    }
  }
  const release = () => {
    isLetGo = true
  }
  let sent: Promise<void> | undefined
  const server = createServer((request, response) => {
    sent = sendStream(
      { status: 200, headers: [] },
      { kind: 'pieces', pieces, signal: stop.signal, release },
      request,
      response,
    )
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  let code: string | undefined
  socket.on('error', (fault: NodeJS.ErrnoException) => {
    code = fault.code
  })
  socket.pause()
  socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
  await expect.poll(() => sent !== undefined).toBe(true)
  await new Promise((resolve) => setTimeout(resolve, 300))
  stop.abort()
  // No fault on our side.
  await sent
  expect([isEnded, isLetGo]).toEqual([true, true])
  socket.resume()
  await expect.poll(() => code).toBe('ECONNRESET')
  server.close()
})
