import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

// Puts compiled code beside the built program (bin/load-program.cjs): starts it once in an empty home, and keeps what it
// leaves. Without requests: the code that serves them takes 1 MB of idle memory, and does not make the first requests cheaper.

const root = join(import.meta.dirname, '..')
const home = mkdtempSync(join(tmpdir(), 'copilot-proxy-build-'))
const program = spawn(
  process.execPath,
  [join(root, 'bin/copilot-proxy.cjs'), 'serve', '--demo', '--port', '0', '--log-level', 'error'],
  {
    env: { COPILOT_PROXY_HOME: home },
    stdio: ['ignore', 'pipe', 'ignore'],
  },
)
const ended = once(program, 'exit')
await Promise.race([once(createInterface({ input: program.stdout }), 'line'), ended])
program.kill('SIGTERM')
const [code] = await ended
if (code === 0) cpSync(join(home, 'cache'), join(root, 'dist/code-cache'), { recursive: true })
rmSync(home, { recursive: true, force: true })
if (code !== 0) {
  console.error(`The program ended with ${code}. Run: npm start -- serve --demo`)
  process.exitCode = 1
}
