import { chmod, readFile, writeFile } from 'node:fs/promises'
import { watch } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { browserCommand, openBrowser } from '../../../src/commands/login/desktop.ts'
import { makeFolder } from '../../tools/session.ts'

test.each([
  ['darwin', {}, ['open']],
  ['win32', {}, ['rundll32', 'url.dll,FileProtocolHandler']],
  ['linux', { DISPLAY: ':0' }, ['xdg-open']],
  ['linux', { WAYLAND_DISPLAY: 'wayland-0' }, ['xdg-open']],
  ['linux', {}, undefined],
  ['linux', { DISPLAY: 'localhost:10.0', SSH_CONNECTION: '10.0.0.1 1 10.0.0.2 22' }, undefined],
  ['darwin', { SSH_TTY: '/dev/ttys001' }, undefined],
] as const)('on %s with %o the opener is %o', (platform, env, expected) => {
  expect(browserCommand({ platform, env })).toEqual(expected)
})

test('C11 starts the opener with the address and without secrets, neither in its environment nor in its arguments', async () => {
  const folder = await makeFolder()
  const report = join(folder, 'report')
  await writeFile(
    join(folder, 'xdg-open'),
    `#!/bin/sh\n{ echo "$@"; /usr/bin/env; } > ${report}.part && /bin/mv ${report}.part ${report}\n`,
  )
  await chmod(join(folder, 'xdg-open'), 0o755)
  const arrived = new Promise<void>((resolve) => {
    const watcher = watch(folder, (_event, name) => {
      if (name !== 'report') return
      watcher.close()
      resolve()
    })
  })
  const env = { PATH: folder, DISPLAY: ':0', COPILOT_GITHUB_TOKEN: 'ghu_example', NODE_OPTIONS: '--x' }
  expect(openBrowser('https://github.com/login/device', { platform: 'linux', env })).toBe(true)
  await arrived
  const seen = await readFile(report, 'utf8')
  expect(seen).toContain('https://github.com/login/device\n')
  expect(seen).toContain('DISPLAY=:0')
  expect(seen).not.toMatch(/ghu_example|NODE_OPTIONS/)
})

test('does not mind a missing opener, and does not claim that there is one', async () => {
  expect(openBrowser('https://github.com', { platform: 'linux', env: { DISPLAY: ':0', PATH: '/nonexistent' } })).toBe(
    false,
  )
  await new Promise((resolve) => setImmediate(resolve))
})

test.each(['file:///etc/passwd', 'vscode://x', 'javascript:alert(1)'])('does not open %s', (url) => {
  expect(openBrowser(url, { platform: 'linux', env: { DISPLAY: ':0', PATH: '/nonexistent' } })).toBe(false)
})
