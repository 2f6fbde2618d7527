// Prints the modules that a daemon has loaded after it has started and answered. Arguments: its configuration, and `page` for
// what the page asks for too.
import { registerHooks } from 'node:module'
import { argv, exit, stdout } from 'node:process'

const root = new URL('../../..', import.meta.url).href
const modules = new Set<string>()
registerHooks({
  load(url, context, next) {
    modules.add(url.replace(root, ''))
    return next(url, context)
  },
})
const { loadConfig } = await import('../../../src/config/load.ts')
const { startDaemon } = await import('../../../src/daemon.ts')
const env = { COPILOT_PROXY_SERVER_PORT: '0' }
const loaded = loadConfig({ file: { path: 'config.yaml', text: argv[2] ?? '' }, env, flags: [] })
if (!loaded.ok) throw new Error('the configuration is invalid')
const ignore = (): void => {}
const daemon = await startDaemon({
  config: loaded.value,
  authDir: '/nonexistent',
  ownPaths: { folders: [], files: [] },
  codexHome: undefined,
  version: '0.0.0-test',
  log: { debug: ignore, info: ignore, warn: ignore, error: ignore },
  demo: false,
  githubToken: undefined,
  env: {},
})
await fetch(`${daemon.url}/sessions`)
if (argv[3] === 'page') {
  for (const path of ['/', '/page/main.js']) await fetch(daemon.url + path, { headers: { accept: 'text/html' } })
  for (const path of ['/usage', '/requests', '/v1/models', '/logins', '/keys']) await fetch(daemon.url + path)
}
stdout.write([...modules].join('\n'), () => exit(0))
