import { posix } from 'node:path'
import { marker } from './define.ts'
import type { ServiceDefinition } from './define.ts'
import type { Folders, ServiceManager, ServiceState } from './manager.ts'

const agentLabel = 'local.copilot-proxy'

/** A property list for the user's launchd (launchd.plist(5)): started at login, restarted after a failure. */
export function launchdAgent({ command, environment, stopSeconds, logFile }: ServiceDefinition): string {
  const variables = Object.entries(environment).flatMap(([name, value]) => [
    `    <key>${xml(name)}</key>`,
    `    <string>${xml(value)}</string>`,
  ])
  return `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<!-- ${marker} -->
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
