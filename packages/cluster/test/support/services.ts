/**
 * The services that some tests need: PostgreSQL 15 and Redis 7 of this machine. Their tests belong to `pnpm test:peers`
 * (`*.long.test.ts`). Without a service they fail in CI. Elsewhere they are left out, and a line names them.
 */
import * as net from "node:net"

const ports = { PostgreSQL: 5432, Redis: 6379 } as const

/** A service that tests need. */
export type Service = keyof typeof ports

const answers = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = net.connect({ host: "127.0.0.1", port, timeout: 20_000 })
    const end = (isOpen: boolean) => {
      socket.destroy()
      resolve(isOpen)
    }
    socket.once("connect", () => end(true))
    socket.once("error", () => end(false))
    socket.once("timeout", () => end(false))
  })

const running: { readonly [service in Service]: boolean } = {
  PostgreSQL: await answers(ports.PostgreSQL),
  Redis: await answers(ports.Redis)
}

/**
 * Returns whether the tests of a file can run that need a service. Without the service, the file fails in CI, and
 * elsewhere a line names what is left out.
 */
export const isRunning = (service: Service, tests: string): boolean => {
  if (running[service]) return true
  const problem = `${service} at 127.0.0.1:${ports[service]} does not answer`
  if (process.env["CI"]) throw new Error(`${problem}; start it`)
  console.log(`left out, because ${problem}: ${tests}`)
  return false
}
