import type { Probe } from './probe.ts'

/** The commands of a system that fixes end in. */
export interface HelpfulCommands {
  /** Asks a host as the check did, and shows every step on the way. */
  readonly ask: (host: Pick<Probe, 'host' | 'isSecure'>) => string
  readonly setVariable: (name: string, value: string) => string
  readonly unsetVariable: (name: string) => string
  /** Sets the clock by the network. */
  readonly setClock: string
}

const ofPosix = {
  ask: ({ host, isSecure }) => `curl -vI ${isSecure ? 'https' : 'http'}://${host}/`,
  setVariable: (name, value) => `export ${name}=${value}`,
  unsetVariable: (name) => `unset ${name}`,
  setClock: 'sudo timedatectl set-ntp true',
} satisfies HelpfulCommands

const ofMac: HelpfulCommands = { ...ofPosix, setClock: 'sudo systemsetup -setusingnetworktime on' }

/** For PowerShell, in which `curl` alone is something else. */
const ofWindows: HelpfulCommands = {
  ask: (host) => ofPosix.ask(host).replace('curl', 'curl.exe'),
  setVariable: (name, value) => `$env:${name}='${value}'`,
  unsetVariable: (name) => `Remove-Item Env:${name}`,
  setClock: 'w32tm /resync',
}

const bySystem: Partial<Record<NodeJS.Platform, HelpfulCommands>> = { darwin: ofMac, win32: ofWindows }

export function helpfulCommands(platform: NodeJS.Platform): HelpfulCommands {
  return bySystem[platform] ?? ofPosix
}
