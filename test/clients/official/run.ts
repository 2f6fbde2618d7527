import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { runAlone, skip } from '../run-alone.ts'

// `npm run test:official`: GitHub's own Copilot CLI and language server against the simulated Copilot, which has to accept all that
// they send. Run it again with each new version of them. Everything runs where loopback is the only network.

const folder = import.meta.dirname

const programs = ['copilot', 'copilot-language-server'].map((name) => join(folder, 'node_modules/.bin', name))
if (!programs.every((program) => existsSync(program))) {
  skip('the programs are not installed. `npm install --prefix test/clients/official` installs them (0.8 GB).')
}

runAlone(join(folder, 'vitest.config.ts'))
