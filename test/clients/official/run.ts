import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { runAlone, skip } from '../run-alone.ts'

// `npm run test:official`: GitHub's own Copilot CLI, SDK and language server against the simulated Copilot, which has to accept all
// that they send, and as clients of the proxy. Run it again with each new version of them. Everything runs where loopback is the only network.

const folder = import.meta.dirname

const programs = ['.bin/copilot', '.bin/copilot-language-server', '@github/copilot-sdk']
if (!programs.every((program) => existsSync(join(folder, 'node_modules', program)))) {
  skip('the programs are not installed. `npm install --prefix test/clients/official` installs them (1.1 GB).')
}

runAlone(join(folder, 'vitest.config.ts'))
