import { posix } from 'node:path'
import { marker } from './define.ts'
import type { ServiceDefinition } from './define.ts'
import type { CommandLine, Folders, ServiceManager, ServiceState } from './manager.ts'

const unitName = 'copilot-proxy.service'

/**
 * A unit for the user's service manager (systemd.service(5), systemd.exec(5)). Only restrictions that every user's
 * manager can apply: some systems forbid mount namespaces to users. No MemoryDenyWriteExecute: V8 generates code at
 * run time.
 */
export function systemdUnit({ command, environment, stopSeconds }: ServiceDefinition): string {
  // systemd 252 refuses a program with such a character in its path ("contains special characters"), but not arguments.
  const [program, ...args] = /["'\\]/.test(command[0]) ? (['/usr/bin/env', ...command] as const) : command
  const variables = Object.entries(environment).map(([name, value]) => `Environment=${quoted(`${name}=${value}`)}\n`)
  return `# ${marker}
[Unit]
Description=copilot-proxy: GitHub Copilot and OpenAI Codex models for local programs
StartLimitIntervalSec=60
StartLimitBurst=5

[Service]
Type=exec
ExecStart=${[quoted(program), ...args.map(argument)].join(' ')}
${variables.join('')}Restart=on-failure
RestartSec=2
# Settings that are not valid do not become so by another start.
RestartPreventExitStatus=2
KillMode=mixed
TimeoutStopSec=${stopSeconds}
UMask=0077
NoNewPrivileges=yes
LockPersonality=yes
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK
RestrictNamespaces=yes
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
    note: 'It runs while you are logged in. To have it run without that: loginctl enable-linger',
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
