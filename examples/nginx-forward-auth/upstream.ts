import { createServer } from 'node:http'

// It knows nothing of credentials: nginx forwards only requests that are allowed, and says who the
// caller is.
const server = createServer((request, response) => {
  const { 'x-service-subject': subject, 'x-service-scope': scope } = request.headers
  response.setHeader('Content-Type', 'application/json')
  response.end(
    `${JSON.stringify({ subject, scope, sawCredential: 'x-service-credential' in request.headers })}\n`,
  )
}).listen(Number(process.env.PORT ?? 9000), '127.0.0.1', () => {
  const { port } = server.address() as { port: number }
  console.log(`listening on http://127.0.0.1:${port}`)
})
