import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { startVitest } from 'vitest/node'
import { executable } from './browser.ts'

// `npm run test:browser [-- --layout] [-- FILE]`: the page in the system's Chromium. With --layout it writes layout.golden.json.

if (!existsSync(executable)) {
  console.log(`There is no Chromium at ${executable}. Install it (Debian: apt install chromium), or set CHROMIUM.`)
} else {
  const args = process.argv.slice(2)
  if (args.includes('--layout')) process.env['PAGE_LAYOUT'] = '1'
  const config = fileURLToPath(new URL('vitest.config.ts', import.meta.url))
  const vitest = await startVitest(
    'test',
    args.filter((each) => !each.startsWith('--')),
    { config, run: true, watch: false },
  )
  await vitest.close()
}
