import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'vitest'
import { createUser } from '../commands/harness.ts'
import { startCli } from './cli.ts'

test(
  'a daemon starts with settings that no longer exist, and names what replaces them',
  { timeout: 60_000 },
  async () => {
    const { home } = await createUser()
    const file = join(home, 'config.yaml')
    await writeFile(file, 'codex:\n  timeouts: { idle-seconds: 5 }\n')
    const cli = startCli(['serve', '--demo', '--port', '0'], {
      COPILOT_PROXY_HOME: home,
      COPILOT_PROXY_AGENT_MAX_ACTIONS: '5',
    })
    await cli.seen('stdout', /listening on (\S+)/)
    await cli.seen(
      'stderr',
      /WARN COPILOT_PROXY_AGENT_MAX_ACTIONS {2}agent\.max-actions {2}this setting no longer exists/,
    )
    await cli.seen('stderr', /WARN \S+config\.yaml:2:3 {2}codex\.timeouts {2}.*Use copilot\.timeouts/)
    await writeFile(file, 'log: { level: debug }\nresponses:\n  websocket: false\n')
    await cli.seen('stderr', /WARN \S+config\.yaml:2:1 {2}responses {2}this setting no longer exists/)
  },
)
