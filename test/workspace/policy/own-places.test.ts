import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeFolder } from '../../tools/session.ts'

/** Whether this user may mount folders, in a mount namespace of its own. */
function canMount(): boolean {
  try {
    execFileSync('unshare', ['--mount', '--map-root-user', 'true'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

test.skipIf(!canMount())('a bind mount of an own folder or file is neither read nor searched', async () => {
  const base = await makeFolder({
    'own/a.txt': 'text\n',
    'own.txt': 'text\n',
    'root/folder/.keep': '',
    'root/file.txt': '',
    'root/honest.txt': 'text\n',
  })
  const child = join(import.meta.dirname, '../children/read-mounted.ts')
  const unshare = ['--mount', '--map-root-user', process.execPath, child, base]
  expect(JSON.parse(execFileSync('unshare', unshare, { encoding: 'utf8' }))).toEqual({
    texts: [
      expect.stringContaining('belongs to copilot-proxy'),
      expect.stringContaining('belongs to copilot-proxy'),
      'text\n',
    ],
    found: ['honest.txt'],
    truncated: false,
  })
})
