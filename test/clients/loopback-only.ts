import { readFileSync } from 'node:fs'
import { networkInterfaces } from 'node:os'

// Runs before every file of these tests, and refuses to where a client could reach anything but this machine.

const outside = Object.entries(networkInterfaces()).filter(([, addresses = []]) =>
  addresses.some(({ internal }) => !internal),
)
const [, ...routes] = readFileSync('/proc/self/net/route', 'utf8').trim().split('\n')
if (outside.length > 0 || routes.length > 0) {
  throw new Error('the real clients run only where loopback is the only network: `npm run test:clients` sees to that')
}
