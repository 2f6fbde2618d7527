import { execFile } from 'node:child_process'
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { makeFolder } from '../tools/session.ts'

const run = promisify(execFile)
const mainFile = fileURLToPath(new URL('../../bin/copilot-proxy.cjs', import.meta.url))
const page = await readFile(new URL('../../docs/agent.md', import.meta.url), 'utf8')

/** Each run has another id, and the output of its tests another length. */
function plain(text: string): string {
  return text
    .replace(/To undo: copilot-proxy undo \S+/, 'To undo: ID')
    .replaceAll(/-+ [\d.]+ credits --/g, '- credits --')
}

test.skipIf(process.platform === 'win32')(
  'the guide works as it is written, and shows what the program prints',
  async () => {
    const dir = await makeFolder()
    await mkdir(join(dir, 'bin'))
    await writeFile(join(dir, 'bin/copilot-proxy'), `#!/bin/sh\nexec "${process.execPath}" "${mainFile}" "$@"\n`)
    // What npm runs, without the seconds that npm itself takes.
    await writeFile(join(dir, 'bin/npm'), `#!/bin/sh\nexec "${process.execPath}" --test\n`)
    for (const name of ['copilot-proxy', 'npm']) await chmod(join(dir, 'bin', name), 0o755)
    const [, guide = ''] = /## Try it.*?```sh\n(.*?)```/s.exec(page) ?? []
    const env = {
      PATH: `${join(dir, 'bin')}:${process.env['PATH']}`,
      HOME: dir,
      COPILOT_PROXY_HOME: join(dir, 'home'),
      COPILOT_PROXY_SERVER_PORT: '0',
      NODE_DISABLE_COMPILE_CACHE: '1',
    }
    // Nobody is there to press a key.
    const { stdout } = await run('/bin/sh', ['-ec', guide.replace('--demo', '--demo --yes')], { cwd: dir, env })
    expect(await readFile(join(dir, 'shop/src/total.js'), 'utf8')).toContain('item.price * item.quantity')
    const shown = page.match(/(?<=```\n)-- Step 3.*?(?= {2}Change src)|The model gave.*?(?=\n```)/gs) ?? []
    expect(shown).toHaveLength(2)
    for (const text of shown) expect(plain(stdout)).toContain(plain(text))
  },
  60_000,
)
