import { posix } from 'node:path'
import type { ServiceDefinition } from './definition.ts'
import { agentLabel, launchdAgent } from './launchd-agent.ts'
import { systemdUnit, unitName } from './systemd-unit.ts'

/** A program and its exact arguments; no shell reads them. */
export type CommandLine = readonly [string, ...string[]]

/** What the system knows of the service. */
interface ServiceState {
  readonly running: boolean
  /** In the system's own words. */
  readonly detail: string
}

/** How one system runs services of a user. */
export interface ServiceManager {
  /** For people. */
  readonly name: string
  /** Where its file belongs. */
  readonly file: string
  readonly text: (definition: ServiceDefinition) => string
  /** Fails exactly where there is no such manager for this user, as in most containers. */
  readonly probe: CommandLine
  /** Once the file is there: runs it from now on, the new file also where an older one was running. */
  readonly activate: readonly ActivationStep[]
  /** What a person runs in place of `activate`. */
  readonly activateByHand: readonly string[]
  readonly deactivate: readonly CommandLine[]
  readonly afterRemoval: readonly CommandLine[]
  readonly restart: CommandLine
  readonly show: CommandLine
  /** Of what `show` printed. */
  readonly parseState: (printed: string) => ServiceState
  /** Where to see why it does not start. */
  readonly look: string
  /** What a person may want to know. */
  readonly note: string | undefined
}

interface ActivationStep {
  readonly command: CommandLine
  /** It fails where there is nothing to undo. */
  readonly mayFail?: true
  /** Succeeds as long as what the command ends is there: the command may return before it is gone. */
  readonly whileThere?: CommandLine
}

export interface Folders {
  readonly home: string
  readonly xdgConfigHome: string | undefined
  readonly uid: number
}

function systemctl(...args: readonly string[]): CommandLine {
  return ['systemctl', '--user', ...args]
}

export function systemd({ home, xdgConfigHome }: Folders): ServiceManager {
  const isUsable = xdgConfigHome !== undefined && posix.isAbsolute(xdgConfigHome)
  return {
    name: 'systemd',
    file: posix.join(isUsable ? xdgConfigHome : posix.join(home, '.config'), 'systemd/user', unitName),
    text: systemdUnit,
    probe: systemctl('show-environment'),
    activate: [
      { command: systemctl('daemon-reload') },
      { command: systemctl('enable', unitName) },
      { command: systemctl('restart', unitName) },
    ],
    activateByHand: ['systemctl --user daemon-reload', `systemctl --user enable --now ${unitName}`],
    deactivate: [systemctl('disable', '--now', unitName)],
    afterRemoval: [systemctl('daemon-reload')],
    restart: systemctl('restart', unitName),
    show: systemctl('show', unitName, '--property=ActiveState,SubState,UnitFileState,MainPID,Result'),
    parseState: parseUnitState,
    look: `journalctl --user -u ${unitName}`,
    note: 'It runs while you are logged in. To have it run without that: loginctl enable-linger',
  }
}

export function launchd({ home, uid }: Folders): ServiceManager {
  const file = posix.join(home, 'Library/LaunchAgents', `${agentLabel}.plist`)
  const domain = `gui/${uid}`
  const target = `${domain}/${agentLabel}`
  return {
    name: 'launchd',
    file,
    text: launchdAgent,
    probe: ['launchctl', 'print', domain],
    activate: [
      { command: ['launchctl', 'bootout', target], mayFail: true, whileThere: ['launchctl', 'print', target] },
      { command: ['launchctl', 'bootstrap', domain, file] },
    ],
    activateByHand: [`launchctl bootout ${target}`, `launchctl bootstrap ${domain} '${file}'`],
    deactivate: [['launchctl', 'bootout', target]],
    afterRemoval: [],
    restart: ['launchctl', 'kickstart', '-k', target],
    show: ['launchctl', 'print', target],
    parseState: parseAgentState,
    look: 'copilot-proxy logs',
    note: undefined,
  }
}

/** Lines `Name=value` (systemctl(1), show). */
function parseUnitState(printed: string): ServiceState {
  const values = new Map(
    printed.split('\n').flatMap((line) => {
      const [name, value] = line.split('=')
      return name === undefined || value === undefined ? [] : [[name, value] as const]
    }),
  )
  const state = values.get('ActiveState') ?? 'unknown'
  const parts = [
    `${state} (${values.get('SubState') ?? 'unknown'})`,
    ...(values.get('MainPID') === '0' ? [] : [`process ${values.get('MainPID') ?? 'unknown'}`]),
    ...(values.get('Result') === 'success' ? [] : [`result: ${values.get('Result') ?? 'unknown'}`]),
    values.get('UnitFileState') === 'enabled' ? 'starts with your session' : 'does not start with your session',
  ]
  return { running: state === 'active', detail: parts.join(', ') }
}

/** Lines `name = value`, those of the service itself before those of its parts (launchctl(1), print: not an interface). */
function parseAgentState(printed: string): ServiceState {
  const valueOf = (name: string): string | undefined => new RegExp(`^\\s*${name} = (.+)$`, 'm').exec(printed)?.[1]
  const state = valueOf('state') ?? 'unknown'
  const pid = valueOf('pid')
  const last = valueOf('last exit code')
  const parts = [
    state,
    ...(pid === undefined ? [] : [`process ${pid}`]),
    ...(last === undefined || pid !== undefined ? [] : [`last exit code ${last}`]),
  ]
  return { running: state === 'running', detail: parts.join(', ') }
}
