import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { startVitest } from 'vitest/node'
import { executable } from './browser.ts'

// `npm run test:browser [-- --pictures]`: the page in the system's Chromium. With --pictures it also writes docs/images/.

if (!existsSync(executable)) {
  console.log(`There is no Chromium at ${executable}. Install it (Debian: apt install chromium), or set CHROMIUM.`)
} else {
  if (process.argv.includes('--pictures')) process.env['PAGE_PICTURES'] = '1'
  const config = fileURLToPath(new URL('vitest.config.ts', import.meta.url))
  const vitest = await startVitest('test', [], { config, run: true, watch: false })
  await vitest.close()
}
