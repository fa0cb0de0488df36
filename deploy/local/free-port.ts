import { type AddressInfo, createServer } from 'node:net'

/**
 * The preferred loopback port if nothing listens there, else any free one. Another process may
 * still take it before it is used; whoever starts a server finds out by its readiness check.
 */
export async function freePort(preferred: number): Promise<number> {
  const port = await tryListen(preferred)
  return port ?? (await tryListen(0)) ?? fail()
}

function fail(): never {
  throw new Error('No free port on 127.0.0.1: stop other servers and try again')
}

function tryListen(port: number): Promise<number | undefined> {
  return new Promise(resolve => {
    const server = createServer()
    server.once('error', () => resolve(undefined))
    server.listen({ host: '127.0.0.1', port, exclusive: true }, () => {
      const { port: taken } = server.address() as AddressInfo
      server.close(() => resolve(taken))
    })
  })
}
