import { posix } from 'node:path'

/** The content of a service file. The login of a proxy is the only secret that it may have: such files are often shown. */
export interface ServiceDefinition {
  /** Node.js, script and arguments, as absolute paths: a service has a minimal search path. */
  readonly command: readonly [string, ...string[]]
  readonly environment: Readonly<Record<string, string>>
  /** For open requests to finish, and a margin. */
  readonly stopSeconds: number
  /** For standard error, if the system does not keep that itself. */
  readonly logFile: string
}

/** In the file of a service that copilot-proxy may overwrite. */
export const marker = 'by copilot-proxy service install'
const notice = `Created ${marker}, which overwrites changes.`

/** A program and its arguments, without a shell. */
export type CommandLine = readonly [string, ...string[]]

interface ServiceState {
  readonly running: boolean
  /** In the system's own terms. */
  readonly detail: string
}

/** How one system runs services of a user. */
export interface ServiceManager {
  readonly name: string
  /** The path of the service's file. */
  readonly file: string
  readonly text: (definition: ServiceDefinition) => string
  /** Fails if this user has no such manager, as in most containers. */
  readonly probe: CommandLine
  /** Loads the file and (re)starts the service. */
  readonly activate: readonly ActivationStep[]
  /** The commands that a person runs in place of `activate`. */
  readonly activateByHand: readonly string[]
  readonly deactivate: readonly CommandLine[]
  readonly afterRemoval: readonly CommandLine[]
  readonly restart: CommandLine
  readonly show: CommandLine
  /** Parses the output of `show`. */
  readonly parseState: (printed: string) => ServiceState
  /** Shows why the service does not start. */
  readonly look: string
  readonly note: string | undefined
}

interface ActivationStep {
  readonly command: CommandLine
  /** It fails if there is nothing to undo. */
  readonly mayFail?: true
  /** Succeeds until the effect of the command is complete, which may be after it returns. */
  readonly whileThere?: CommandLine
}

export interface Folders {
  readonly home: string
  readonly xdgConfigHome: string | undefined
  readonly uid: number
}

const unitName = 'copilot-proxy.service'

/**
 * A unit for the user's service manager (systemd.service(5), systemd.exec(5)). Only restrictions that every user's
 * manager can apply: some systems forbid mount namespaces to users. No MemoryDenyWriteExecute: V8 generates code at
 * run time. Its namespaces are those in which bubblewrap encloses commands. NoNewPrivileges forbids a bwrap that is setuid.
 */
export function systemdUnit({ command, environment, stopSeconds }: ServiceDefinition): string {
  // systemd 252 refuses a program with such a character in its path ("contains special characters"), but not arguments.
  const [program, ...args] = /["'\\]/.test(command[0]) ? (['/usr/bin/env', ...command] as const) : command
  const variables = Object.entries(environment).map(([name, value]) => `Environment=${quoted(`${name}=${value}`)}\n`)
  return `# ${notice}
[Unit]
Description=copilot-proxy: GitHub Copilot and OpenAI Codex models for local programs
StartLimitIntervalSec=60
StartLimitBurst=5

[Service]
Type=exec
ExecStart=${[quoted(program), ...args.map(argument)].join(' ')}
${variables.join('')}Restart=on-failure
RestartSec=2
# Exit code 2: the configuration is invalid, so a restart does not help.
RestartPreventExitStatus=2
KillMode=mixed
TimeoutStopSec=${stopSeconds}
UMask=0077
NoNewPrivileges=yes
LockPersonality=yes
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK
RestrictNamespaces=user mnt pid net ipc uts cgroup
RestrictRealtime=yes
RestrictSUIDSGID=yes
SystemCallArchitectures=native

[Install]
WantedBy=default.target
`
}

/** `$` would start a variable (systemd.service(5), "Command lines"). */
function argument(text: string): string {
  return quoted(text.replaceAll('$', '$$$$'))
}

/** In double quotes, with C-style escapes and no specifiers (systemd.syntax(7), systemd.unit(5) "Specifiers"). */
function quoted(text: string): string {
  const escaped = text
    .replaceAll('\\', '\\\\')
    .replaceAll('"', '\\"')
    .replaceAll('\n', '\\n')
    .replaceAll('\t', '\\t')
    .replaceAll('%', '%%')
  return `"${escaped}"`
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
    note: 'The service runs while you are logged in. To keep it running after you log out: loginctl enable-linger',
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

const agentLabel = 'local.copilot-proxy'

/** A property list for the user's launchd (launchd.plist(5)): started at login, restarted after a failure. */
export function launchdAgent({ command, environment, stopSeconds, logFile }: ServiceDefinition): string {
  const variables = Object.entries(environment).flatMap(([name, value]) => [
    `    <key>${xml(name)}</key>`,
    `    <string>${xml(value)}</string>`,
  ])
  return `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<!-- ${notice} -->
<plist version="1.0">
<dict>
  <key>Label</key>
  <string>${agentLabel}</string>
  <key>ProgramArguments</key>
  <array>
${command.map((part) => `    <string>${xml(part)}</string>`).join('\n')}
  </array>
  <key>EnvironmentVariables</key>
  <dict>
${variables.map((line) => `${line}\n`).join('')}  </dict>
  <key>RunAtLoad</key>
  <true/>
  <key>KeepAlive</key>
  <dict>
    <key>SuccessfulExit</key>
    <false/>
  </dict>
  <key>ThrottleInterval</key>
  <integer>10</integer>
  <key>ExitTimeOut</key>
  <integer>${stopSeconds}</integer>
  <key>Umask</key>
  <integer>63</integer>
  <key>StandardErrorPath</key>
  <string>${xml(logFile)}</string>
</dict>
</plist>
`
}

function xml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
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

/** Lines `name = value`, those of the service before those of its parts (launchctl(1), print: not a stable format). */
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
