import { marker } from './definition.ts'
import type { ServiceDefinition } from './definition.ts'

export const unitName = 'copilot-proxy.service'

/**
 * A unit for the user's own service manager (systemd.service(5), systemd.exec(5)). Only such restrictions that a user's
 * manager can set up everywhere: those that need a mount namespace fail where a system forbids these to users. No
 * MemoryDenyWriteExecute: V8 makes code at run time.
 */
export function systemdUnit({ command, environment, stopSeconds }: ServiceDefinition): string {
  // A program with one of these in its path is refused (systemd 252, "contains special characters"); arguments may have them.
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

/** A `$` would name a variable there (systemd.service(5), "Command lines"). */
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
