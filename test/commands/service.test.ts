import { readFile, stat, writeFile, mkdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { findProcessStart } from '../../src/auth/records/process-start.ts'
import { findStateFiles, writeDaemonRecord } from '../../src/commands/background/background-daemon.ts'
import type { DaemonRecord } from '../../src/commands/background/background-daemon.ts'
import { restartService, serviceInstall, serviceStatus, serviceUninstall } from '../../src/commands/service/service.ts'
import type { CommandResult, ServiceSystem } from '../../src/commands/service/service.ts'
import { launchdAgent, systemdUnit } from '../../src/commands/service/managers.ts'
import type { ServiceDefinition } from '../../src/commands/service/managers.ts'
import type { CommandContext, ServiceFlags } from '../../src/commands/shared/command.ts'
import { openProxy } from '../http/harness.ts'
import { createUser, recordOutput } from './harness.ts'
import type { TestUser } from './harness.ts'

const definition: ServiceDefinition = {
  command: [
    '/usr/bin/node',
    '/opt/copilot proxy/bin/copilot-proxy.cjs',
    'serve',
    '--background=service',
    '--config=/home/ada/100% "mine" $HOME & <co>.yaml',
  ],
  environment: { COPILOT_PROXY_HOME: '/srv/ada\\proxy', NO_PROXY: 'localhost,10%' },
  stopSeconds: 45,
  logFile: '/home/ada/.local/state/copilot-proxy/daemon.log',
}

test('a systemd unit is what it was', async () => {
  await expect(systemdUnit(definition)).toMatchFileSnapshot('../golden/service/copilot-proxy.service')
})

test('a program whose path systemd would refuse is started by way of env', () => {
  const unit = systemdUnit({ ...definition, command: ["/home/o'hara/bin/node", '/opt/main.cjs'] })
  expect(unit).toContain(`ExecStart="/usr/bin/env" "/home/o'hara/bin/node" "/opt/main.cjs"\n`)
})

test('a launchd agent is what it was', async () => {
  await expect(launchdAgent(definition)).toMatchFileSnapshot('../golden/service/local.copilot-proxy.plist')
})

interface Machine {
  readonly system: ServiceSystem
  /** Command lines in the order in which they were run. */
  readonly ran: string[]
}

/**
 * A machine whose service manager has scripted answers by the first words of a command. All other commands succeed.
 * @param onStart what the service does when it is started
 */
function createMachine(
  answers: Readonly<Record<string, Partial<CommandResult>>> = {},
  onStart: () => Promise<void> = () => Promise.resolve(),
): Machine {
  const ran: string[] = []
  return {
    ran,
    system: {
      async run(command) {
        const line = command.join(' ')
        ran.push(line)
        if (/ restart | bootstrap | kickstart /.test(line)) await onStart()
        const known = Object.entries(answers).find(([begin]) => line.startsWith(begin))
        return { code: 0, stdout: '', stderr: '', ...known?.[1] }
      },
      uid: () => 501,
      startLimitMs: 0,
    },
  }
}

/** A user in whose name this very process poses as the service, once it is started. */
async function createServiceUser(change: Partial<CommandContext> = {}) {
  const user = await createUser()
  const start = (await findProcessStart(process.pid, { platform: process.platform, env: process.env })) ?? ''
  const place = findStateFiles(user.context())
  const record = (changed: Partial<DaemonRecord> = {}): DaemonRecord => ({
    pid: process.pid,
    process_start: start,
    url: 'http://127.0.0.1:4141',
    version: '0.0.0-test',
    started_at: '2026-11-22T00:00:00.000Z',
    starter: 'service',
    flags: {},
    ...changed,
  })
  return {
    user,
    place,
    record,
    unit: join(user.home, '.config/systemd/user/copilot-proxy.service'),
    pose: async () => {
      await mkdir(place.dir, { recursive: true })
      await writeDaemonRecord(place.recordFile, record())
    },
    run: (command: typeof serviceInstall, machine: Machine, flags: ServiceFlags = {}) =>
      runWith(user, change, (context) => command(context, flags, machine.system)),
  }
}

async function runWith(
  user: TestUser,
  change: Partial<CommandContext>,
  command: (context: CommandContext) => Promise<number>,
) {
  const stdout = recordOutput()
  const stderr = recordOutput()
  const code = await command(user.context({ stdout, stderr, ...change }))
  return { code, stdout: stdout.text(), stderr: stderr.text() }
}

describe('with systemd', () => {
  test('install writes the unit and starts it, as often as one likes', async () => {
    const { run, pose, unit } = await createServiceUser()
    const machine = createMachine({}, pose)
    const first = await run(serviceInstall, machine)
    expect(first).toMatchObject({
      code: 0,
      stdout: `Installed the service. copilot-proxy is running at http://127.0.0.1:4141 (process ${process.pid})\n`,
    })
    expect(first.stderr).toContain('loginctl enable-linger')
    expect(machine.ran).toEqual([
      'systemctl --user show-environment',
      'systemctl --user daemon-reload',
      'systemctl --user enable copilot-proxy.service',
      'systemctl --user restart copilot-proxy.service',
    ])
    const text = await readFile(unit, 'utf8')
    expect(text).toMatch(/^ExecStart="\/.*node.*" ".*copilot-proxy\.cjs" "serve" "--background=service"$/m)
  })

  test('--dry-run prints the unit and touches nothing', async () => {
    const { run, unit } = await createServiceUser()
    const machine = createMachine()
    const { stdout, stderr } = await run(serviceInstall, machine, { dryRun: true })
    expect(stdout).toMatch(/^# Created by copilot-proxy service install[^]*\[Install\]\nWantedBy=default\.target\n$/)
    expect(stderr).toContain(unit)
    expect(machine.ran).toEqual([])
    await expect(stat(unit)).rejects.toThrow('ENOENT')
  })

  test('no secret of this program goes into the unit, and the output names missing variables', async () => {
    const { run, user } = await createServiceUser()
    Object.assign(user.env, {
      COPILOT_GITHUB_TOKEN: 'ghu_example',
      COPILOT_PROXY_SERVER_API_KEYS: 'sk-example',
      COPILOT_PROXY_API_KEY: 'sk-example',
      NODE_OPTIONS: '--import=/opt/apm.mjs --use-openssl-ca',
    })
    const noManager = createMachine({ 'systemctl --user show-environment': { code: 1 } })
    const { stdout, stderr } = await run(serviceInstall, noManager)
    const text = await readFile(/Wrote (\S+\.service)\./.exec(stdout)?.[1] ?? '', 'utf8')
    expect(text).not.toMatch(/ghu_example|sk-example|apm/)
    expect(text).toContain('"NODE_OPTIONS=--use-openssl-ca"')
    expect(stderr).toContain(
      'does not use COPILOT_GITHUB_TOKEN, COPILOT_PROXY_SERVER_API_KEYS, COPILOT_PROXY_SERVER_PORT from',
    )
    expect(stderr).toContain('Of NODE_OPTIONS, the service uses only the options for the network and certificates.')
    expect(stderr).not.toContain('login of your proxy')
    const { left_out } = JSON.parse((await run(serviceInstall, noManager, { json: true })).stdout)
    expect(left_out).toContain('COPILOT_GITHUB_TOKEN')
    expect(left_out).toContain('NODE_OPTIONS')
  })

  test('a proxy and its login go into a unit that only this user can read, and nothing shows the password', async () => {
    const { run, user, unit } = await createServiceUser()
    Object.assign(user.env, {
      https_proxy: 'http://CORP\\ada:50%25#win ter@proxy.example:3128',
      HTTP_PROXY: 'http://proxy.example:3128',
      NODE_EXTRA_CA_CERTS: 'company.pem',
    })
    const dry = await run(serviceInstall, createMachine(), { dryRun: true })
    expect(dry.stdout).toContain('"https_proxy=http://…@proxy.example:3128"')
    expect(dry.stderr).toContain('the login in https_proxy is hidden here')
    expect(dry.stderr).toContain('The service does not use COPILOT_PROXY_SERVER_PORT from this terminal.')
    await mkdir(dirname(unit), { recursive: true })
    // A unit of an earlier version.
    await writeFile(unit, '# Created by copilot-proxy service install\n', { mode: 0o644 })
    const noManager = createMachine({ 'systemctl --user show-environment': { code: 1 } })
    const { stdout, stderr } = await run(serviceInstall, noManager)
    const text = await readFile(unit, 'utf8')
    expect(text).toContain('"https_proxy=http://CORP\\\\ada:50%%25#win ter@proxy.example:3128"')
    expect(text).toContain('"HTTP_PROXY=http://proxy.example:3128"')
    expect(text).toContain(`"NODE_EXTRA_CA_CERTS=${join(user.home, 'company.pem')}"`)
    expect((await stat(unit)).mode & 0o777).toBe(0o600)
    expect(stderr).toContain(`${unit} contains the login of your proxy (https_proxy). Only you can read it.`)
    const { stdout: json } = await run(serviceInstall, noManager, { json: true })
    const status = await run(serviceStatus, noManager)
    expect(status.stdout).not.toContain('outdated')
    const shown = [stdout, stderr, json, dry.stdout, dry.stderr, status.stdout, status.stderr].join('\n')
    expect(shown).not.toMatch(/50%|win ter|CORP/)
  })

  test.each([
    'http_proxy',
    'HTTP_PROXY',
    'https_proxy',
    'HTTPS_PROXY',
    'all_proxy',
    'ALL_PROXY',
    'no_proxy',
    'NO_PROXY',
    'NODE_EXTRA_CA_CERTS',
    'SSL_CERT_FILE',
    'SSL_CERT_DIR',
    'NODE_USE_SYSTEM_CA',
    'NODE_TLS_REJECT_UNAUTHORIZED',
  ])('%s of the terminal is in the unit', async (name) => {
    const { run, user } = await createServiceUser()
    user.env[name] = name.startsWith('NODE_') || name.startsWith('SSL_') ? '/1' : 'p.example'
    const { stdout } = await run(serviceInstall, createMachine(), { dryRun: true })
    expect(stdout).toContain(`Environment="${name}=${user.env[name]}"`)
  })

  test.each([{ code: undefined }, { code: 1 }])(
    'where there is no service manager (%o), the two commands to run are said',
    async (answer) => {
      const { run, unit } = await createServiceUser()
      const machine = createMachine({ systemctl: answer })
      expect(await run(serviceInstall, machine)).toMatchObject({
        code: 0,
        stdout:
          `Wrote ${unit}. systemd is not available here. To start the service, run:\n` +
          '  systemctl --user daemon-reload\n  systemctl --user enable --now copilot-proxy.service\n',
      })
      expect(machine.ran).toHaveLength(1)
      const { stdout } = await run(serviceInstall, machine, { json: true })
      expect(JSON.parse(stdout)).toMatchObject({ file: unit, active: false, daemon: null })
    },
  )

  test('prints systemd’s own message if systemd refuses', async () => {
    const { run } = await createServiceUser()
    const machine = createMachine({ 'systemctl --user enable': { code: 1, stderr: 'Failed to enable unit: masked\n' } })
    await expect(run(serviceInstall, machine)).rejects.toThrow(
      'systemctl --user enable copilot-proxy.service failed: Failed to enable unit: masked',
    )
  })

  test('a daemon in a terminal has to end first, and nothing is written', async () => {
    const { run, unit, user } = await createServiceUser()
    const proxy = await openProxy()
    user.env['COPILOT_PROXY_SERVER_PORT'] = new URL(proxy.url).port
    await expect(run(serviceInstall, createMachine())).rejects.toThrow(`is running at ${proxy.url} in a terminal`)
    await expect(stat(unit)).rejects.toThrow('ENOENT')
  })

  test('a service that does not come up is a failure that says where to look', async () => {
    const { run } = await createServiceUser()
    await expect(run(serviceInstall, createMachine())).rejects.toThrow('journalctl --user -u copilot-proxy.service')
  })

  test('a unit of somebody else is neither replaced nor removed', async () => {
    const { run, unit } = await createServiceUser()
    await mkdir(dirname(unit), { recursive: true })
    await writeFile(unit, '[Service]\nExecStart=/bin/true\n')
    const machine = createMachine()
    for (const command of [serviceInstall, serviceUninstall]) {
      await expect(run(command, machine)).rejects.toThrow('was not written by copilot-proxy')
    }
    expect(machine.ran).toEqual([])
    expect(await readFile(unit, 'utf8')).toContain('/bin/true')
  })

  test('uninstall takes it all back, and is done where there is nothing', async () => {
    const { run, pose, unit } = await createServiceUser()
    await run(serviceInstall, createMachine({}, pose))
    const machine = createMachine()
    expect((await run(serviceUninstall, machine)).stdout).toBe(`Removed the service and ${unit}\n`)
    expect(machine.ran).toEqual([
      'systemctl --user show-environment',
      'systemctl --user disable --now copilot-proxy.service',
      'systemctl --user daemon-reload',
    ])
    await expect(stat(unit)).rejects.toThrow('ENOENT')
    expect((await run(serviceUninstall, machine)).stdout).toBe('The service is not installed.\n')
    expect(machine.ran).toHaveLength(3)
  })

  test('status says what the system knows, and whether the unit is the one that would be written now', async () => {
    const { run, pose, unit, user } = await createServiceUser()
    const shown = 'ActiveState=active\nSubState=running\nUnitFileState=enabled\nMainPID=4242\nResult=success\n'
    const machine = createMachine({ 'systemctl --user show ': { stdout: shown } }, pose)
    expect((await run(serviceStatus, machine)).stdout).toContain('not installed')
    await run(serviceInstall, machine)
    expect((await run(serviceStatus, machine)).stdout).toBe(
      'Service  active (running), process 4242, starts with your session\n' +
        `Address  http://127.0.0.1:4141\nFile     ${unit}\n`,
    )
    Object.assign(user.env, { NODE_EXTRA_CA_CERTS: '/etc/ca.pem' })
    expect((await run(serviceStatus, machine)).stdout).toContain('Run: copilot-proxy service install')
    const { stdout } = await run(serviceStatus, machine, { json: true })
    expect(JSON.parse(stdout)).toMatchObject({ installed: true, current: false, running: true })
    const failed = 'ActiveState=failed\nSubState=failed\nUnitFileState=enabled\nMainPID=0\nResult=exit-code\n'
    const dead = createMachine({ 'systemctl --user show ': { stdout: failed } })
    expect((await run(serviceStatus, dead)).stdout).toContain('failed (failed), result: exit-code, starts with')
  })

  test('restart has the system restart it, and waits for the new one', async () => {
    const { user, place, record, pose } = await createServiceUser()
    const machine = createMachine({}, pose)
    const before = record({ process_start: 'an older one' })
    const started = await restartService(user.context(), place, before, machine.system)
    expect(started.record.pid).toBe(process.pid)
    expect(machine.ran).toEqual(['systemctl --user restart copilot-proxy.service'])
  })
})

describe('with launchd', () => {
  const mac = { platform: 'darwin' } as const

  test('install, status and uninstall', async () => {
    const { run, user } = await createServiceUser(mac)
    user.env['all_proxy'] = 'http://ada:p<w@proxy.example'
    const file = join(user.home, 'Library/LaunchAgents/local.copilot-proxy.plist')
    const noSession = createMachine({ 'launchctl print gui/501': { code: 125 } })
    expect((await run(serviceInstall, noSession)).stdout).toContain(`launchctl bootstrap gui/501 '${file}'`)
    expect(await readFile(file, 'utf8')).toContain('<string>--background=service</string>')
    expect(await readFile(file, 'utf8')).toContain('<string>http://ada:p&lt;w@proxy.example</string>')
    expect((await stat(file)).mode & 0o777).toBe(0o600)

    // It takes its time to end, and is started again only then.
    let looks = 0
    const slow = createMachine()
    const looking: ServiceSystem['run'] = async (command, env) => {
      const result = await slow.system.run(command, env)
      if (command.join(' ') !== 'launchctl print gui/501/local.copilot-proxy') return result
      looks += 1
      return { ...result, code: looks < 3 ? 0 : 113 }
    }
    const install = run(serviceInstall, { ...slow, system: { ...slow.system, run: looking } })
    await expect(install).rejects.toThrow('Run: copilot-proxy logs')
    expect(slow.ran.map((line) => line.split(' ')[1])).toEqual([
      'print',
      'bootout',
      'print',
      'print',
      'print',
      'bootstrap',
    ])

    const printed =
      'gui/501/local.copilot-proxy = {\n\tactive count = 1\n\tstate = running\n\n\tpid = 4242\n\tlast exit code = (never exited)\n}\n'
    const machine = createMachine({ 'launchctl print gui/501/local': { stdout: printed } })
    expect((await run(serviceStatus, machine)).stdout).toMatch(/^Service {2}running, process 4242$/m)
    expect((await run(serviceUninstall, machine)).stdout).toContain(file)
    expect(machine.ran.slice(1)).toEqual(['launchctl print gui/501', 'launchctl bootout gui/501/local.copilot-proxy'])
  })
})

test('a system without either gets a suggestion', async () => {
  const { run } = await createServiceUser({ platform: 'win32' })
  await expect(run(serviceUninstall, createMachine())).rejects.toThrow('copilot-proxy start')
})
