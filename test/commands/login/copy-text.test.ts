import { chmod, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { clipboardTools, copyText } from '../../../src/commands/login/desktop.ts'
import { makeFolder } from '../../tools/session.ts'

const never = new AbortController().signal

test.each([
  ['darwin', {}, ['pbcopy']],
  ['win32', {}, ['clip.exe']],
  ['linux', { DISPLAY: ':0' }, ['xclip', 'xsel']],
  ['linux', { WAYLAND_DISPLAY: 'wayland-0' }, ['wl-copy']],
  ['linux', { WAYLAND_DISPLAY: 'wayland-0', DISPLAY: ':0' }, ['wl-copy', 'xclip', 'xsel']],
  ['linux', { WSL_INTEROP: '/run/WSL/1_interop' }, ['clip.exe']],
  ['linux', {}, []],
  ['linux', { DISPLAY: 'localhost:10.0', SSH_CONNECTION: '10.0.0.1 1 10.0.0.2 22' }, []],
  ['darwin', { SSH_TTY: '/dev/ttys001' }, []],
] as const)('on %s with %o the tools are %o', (platform, env, expected) => {
  expect(clipboardTools({ platform, env }).map(([file]) => file)).toEqual(expected)
})

/** Creates a folder with these tools as shell scripts. A script writes the file `report`. */
async function desk(tools: Readonly<Record<string, string>>) {
  const folder = await makeFolder()
  for (const [name, script] of Object.entries(tools)) {
    await writeFile(join(folder, name), `#!/bin/sh\n${script}\n`)
    await chmod(join(folder, name), 0o755)
  }
  const env = { PATH: `${folder}:/usr/bin:/bin`, DISPLAY: ':0', REPORT: folder, COPILOT_GITHUB_TOKEN: 'ghu_example' }
  return {
    copy: (signal = never, limitMs?: number) => copyText('DEMO-0001', { platform: 'linux', env, signal }, limitMs),
    report: () => readFile(join(folder, 'report'), 'utf8'),
    folder,
  }
}

/** Reports its arguments, its environment and its input. */
const working = '{ echo "$@"; env; cat; } > "${0%/*}/report"'

test('gives a tool the text through standard input, and neither on its command line nor with secrets', async () => {
  const { copy, report } = await desk({ xclip: working })
  expect(await copy(never, 30_000)).toBe(true)
  const seen = await report()
  expect(seen).toMatch(/^-selection clipboard\n/)
  expect(seen).toMatch(/DEMO-0001$/)
  expect(seen).not.toMatch(/ghu_example|REPORT/)
})

test('tries the next tool where one fails', async () => {
  const { copy, report } = await desk({ xclip: 'exit 1', xsel: working })
  expect(await copy(never, 30_000)).toBe(true)
  expect(await report()).toMatch(/^--clipboard --input\n/)
})

test.each([
  ['is none', {}],
  ['is only one that fails', { xclip: 'exit 1', xsel: 'cat >/dev/null; exit 3' }],
  ['is only one that is no program', { xclip: '', xsel: 'kill -9 $$' }],
] as const)('says that nothing was copied where there %s', async (_what, tools) => {
  const { copy, folder } = await desk(tools)
  if ('xclip' in tools && tools.xclip === '') await chmod(join(folder, 'xclip'), 0o644)
  expect(await copy(never, 30_000)).toBe(false)
})

test('gives up on a tool that hangs', async () => {
  const { copy } = await desk({ xclip: 'exec tail -f /dev/null', xsel: working })
  expect(await copy(never, 50)).toBe(false)
})

test('gives up when the login is interrupted', async () => {
  const { copy } = await desk({ xclip: 'exec tail -f /dev/null' })
  const interrupt = new AbortController()
  const copying = copy(interrupt.signal, 600_000)
  interrupt.abort('SIGINT')
  expect(await copying).toBe(false)
})
