import { execFile, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import type { Browser, Page } from 'playwright-core'
import { loadConfig } from '../src/config/load.ts'
import { startDaemon } from '../src/daemon.ts'
import type { Logger } from '../src/logging/logger.ts'
import { createUsageRecorder } from '../src/usage/recorder.ts'
import { shopFiles } from '../test/agent/shop.ts'
import { launch, openTab } from '../test/browser/browser.ts'
import type { Look } from '../test/browser/browser.ts'
import { startCopilot } from '../test/upstreams/copilot.ts'

// The pictures of the page in docs/images: a daemon with a month of use, and the agent of `--demo`, in the system's Chromium.
// `npm run docs:page [FOLDER]`.

const images = process.argv[2] ?? join(import.meta.dirname, 'images')
const root = join(import.meta.dirname, '..')
const home = mkdtempSync(join(tmpdir(), 'copilot-proxy-pictures-'))
/** The page shows its path. Fails if another program has this folder. */
const shop = join(tmpdir(), 'shop')
mkdirSync(shop)
const ignore = (): void => {}
const log: Logger = { debug: ignore, info: ignore, warn: ignore, error: ignore }
const dark: Look = { scheme: 'dark' }
const narrow: Look = { width: 360, height: 740 }

/** Those of the documentation. With a FOLDER, every view is written, for a person to look at. */
const documented = /^agent-|^page-(?:approval|session|requests-(?:light|dark)|overview|models-light|clients-light)/

async function picture(page: Page, name: string): Promise<void> {
  if (process.argv[2] === undefined && !documented.test(name)) return
  await page.evaluate('document.fonts.ready')
  await page.screenshot({ path: join(images, `${name}.png`) })
}

/** A month of requests. The numbers repeat, so that a new picture differs only where the page does. */
function fillUsage(file: string): void {
  const models = [
    { provider: 'copilot', model: 'claude-sonnet-4.6', client: 'claude', share: 9, cost: 0.42 },
    { provider: 'copilot', model: 'gpt-5-mini', client: 'opencode', share: 6, cost: 0.03 },
    { provider: 'codex', model: 'gpt-5.5', client: 'codex', share: 4, cost: undefined },
    { provider: 'copilot', model: 'gpt-5.4', client: 'codex', share: 3, cost: 0.31 },
  ] as const
  for (let back = 29; back >= 0; back -= 1) {
    const time = new Date()
    time.setDate(time.getDate() - back)
    const recorder = createUsageRecorder({ file, now: () => time.getTime(), setTimer: () => ignore, log })
    const busy = [0.1, 1, 0.8, 1.2, 0.9, 0.7, 0.2][time.getDay()] ?? 1
    const wave = 1 + ((back * 7) % 5) / 5
    for (const { provider, model, client, share, cost } of models) {
      for (let nth = 0; nth < share * busy * wave; nth += 1) {
        const inputTokens = 6000 + ((nth * 3571 + back * 997) % 30_000)
        recorder.note({
          provider,
          model,
          client,
          session: `${client}-${(back * 3) % 7}f${nth % 3}c`,
          key: client === 'opencode' ? 'laptop' : '',
          keyId: '',
          failed: nth % 17 === 16,
          inputTokens,
          outputTokens: 200 + ((nth * 531) % 1800),
          cachedInputTokens: Math.round(inputTokens * 0.8),
          cacheWriteTokens: 0,
          premiumRequests: null,
          measuredNanoAiu: cost === undefined ? null : cost * (0.5 + (nth % 4) / 3) * 1e9,
          estimatedNanoAiu: null,
        })
      }
    }
    recorder.close()
  }
}

/** Requests of several clients, as the list of the last requests shows them. */
async function sendRequests(url: string): Promise<void> {
  const send = async (agent: string, path: string, body: object) => {
    const headers = { 'content-type': 'application/json', 'user-agent': agent, 'anthropic-version': '2023-06-01' }
    await (await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) })).text()
  }
  const messages = [{ role: 'user', content: 'Where is the price of an order computed?' }]
  const agents = {
    claude: [
      'claude-cli/2.1.0 (external, cli)',
      '/v1/messages',
      { model: 'claude-sonnet-4-5', max_tokens: 500, messages },
    ],
    opencode: ['opencode/1.2.0', '/v1/chat/completions', { model: 'gpt-5-mini', messages, temperature: 0.2 }],
    codex: ['codex_cli_rs/0.90.0', '/v1/responses', { model: 'gpt-5.4', input: 'Say hello', stream: true }],
    curl: ['curl/8.9.1', '/v1/chat/completions', { model: 'gpt-6', messages }],
  } as const
  const order = ['claude', 'claude', 'opencode', 'curl', 'codex', 'claude', 'opencode', 'codex', 'claude'] as const
  for (const each of order) {
    const [agent, path, body] = agents[each]
    await send(agent, path, body)
  }
}

async function showUse(browser: Browser): Promise<void> {
  const upstream = await startCopilot({ settings: { tokenBasedBilling: true } })
  const file = join(home, 'usage.sqlite')
  fillUsage(file)
  const env = {
    COPILOT_PROXY_SERVER_PORT: '0',
    COPILOT_PROXY_COPILOT_OAUTH_GITHUB_BASE_URL: upstream.url,
    COPILOT_PROXY_COPILOT_OAUTH_GITHUB_API_BASE_URL: upstream.url,
    COPILOT_PROXY_USAGE_CREDITS_PER_DAY: '12',
  }
  const settings = loadConfig({ file: undefined, env, flags: [] })
  if (!settings.ok) throw new Error('the settings are invalid')
  const daemon = await startDaemon({
    config: settings.value,
    authDir: join(home, 'auth'),
    usageFile: file,
    ownPaths: { folders: [home], files: [] },
    codexHome: undefined,
    version: '0.0.0',
    log,
    demo: false,
    githubToken: undefined,
    env: {},
  })
  const open = async (view: string, look: Look = {}) => {
    const tab = await openTab(browser, daemon.createPageAddress(), { height: 860, ...look })
    await tab.page.getByText('Live', { exact: true }).waitFor()
    await tab.page.getByRole('link', { name: view, exact: true }).click()
    await tab.page.getByRole('heading', { name: view, exact: true }).waitFor()
    return tab
  }

  const login = await open('Logins')
  await login.page.getByRole('button', { name: 'Log in with GitHub' }).click()
  await login.page.getByText('Type this code at GitHub').waitFor()
  await picture(login.page, 'page-login-light')
  await login.page
    .getByText(/^Logged in as /)
    .first()
    .waitFor()
  await login.page.getByText('In use', { exact: true }).waitFor()
  await login.close()
  await sendRequests(daemon.url)

  const looks = { light: {}, dark, '360-light': narrow, '360-dark': { ...narrow, ...dark } } as const
  for (const [name, look] of Object.entries(looks)) {
    for (const view of ['Overview', 'Requests', 'Models', 'Logins', 'Keys', 'Clients']) {
      const tab = await open(view, look)
      await tab.page.locator('.view-content:not([hidden])').waitFor()
      await picture(tab.page, `page-${view.toLowerCase()}-${name}`)
      await tab.close()
    }
  }
  await daemon.close(0)
  await upstream.close()
}

async function showAgent(browser: Browser): Promise<void> {
  for (const [path, text] of Object.entries(shopFiles)) {
    mkdirSync(dirname(join(shop, path)), { recursive: true })
    writeFileSync(join(shop, path), text)
  }
  const env = { ...process.env, COPILOT_PROXY_HOME: join(home, 'agent'), COPILOT_PROXY_WORKSPACE_READ_ONLY: 'false' }
  const run = promisify(execFile)
  await run(process.execPath, ['src/main.ts', 'policy', 'trust', shop, '--yes'], { cwd: root, env })
  const args = ['src/main.ts', 'serve', '--demo', '--port', '0', '--workspace', shop]
  const daemon = spawn(process.execPath, args, { cwd: root, stdio: ['ignore', 'pipe', 'ignore'], env })
  process.once('exit', () => daemon.kill())
  let url = ''
  for await (const line of createInterface(daemon.stdout)) {
    url = /listening on (\S+)/.exec(line)?.[1] ?? ''
    if (url !== '') break
  }
  const open = async (look: Look) => {
    const ofPage = { ...env, COPILOT_PROXY_SERVER_PORT: new URL(url).port }
    const { stdout } = await run(process.execPath, ['src/main.ts', 'page', '--print'], { cwd: root, env: ofPage })
    const tab = await openTab(browser, stdout.trim(), look)
    await tab.page.getByText('Live', { exact: true }).waitFor()
    return tab
  }
  const { page } = await open({})
  const others = {
    'page-approval-360-light': await open(narrow),
    'page-session-360-dark': await open({ ...narrow, ...dark }),
    'page-session-dark': await open(dark),
  }
  await page.getByRole('radio', { name: 'Agent' }).check()
  await page.locator('#message-text').fill('The test fails. Fix it. [demo:script fix-test]')
  await page.keyboard.press('Enter')
  await page.getByRole('button', { name: 'Allow for this run' }).click()
  const change = page.getByRole('region', { name: 'Change src/total.js?' })
  await change.getByText('sum + item.price * item.quantity').waitFor()
  for (const name of ['agent-approval', 'page-approval-light']) await picture(page, name)
  await others['page-approval-360-light'].page.getByRole('button', { name: 'Review' }).click()
  await picture(others['page-approval-360-light'].page, 'page-approval-360-light')
  await change.getByRole('button', { name: 'Allow once' }).click()
  await page.getByText('Completed', { exact: true }).waitFor()
  await picture(page, 'agent-end')
  for (const name of ['page-session-360-dark', 'page-session-dark'] as const) {
    await others[name].page.getByText('Completed', { exact: true }).waitFor()
    await picture(others[name].page, name)
  }
  const ended = new Promise((resolve) => daemon.once('exit', resolve))
  daemon.kill('SIGTERM')
  await ended
}

const browser = await launch()
try {
  mkdirSync(images, { recursive: true })
  await showUse(browser)
  await showAgent(browser)
} finally {
  await browser.close()
  for (const folder of [home, shop]) rmSync(folder, { recursive: true, force: true })
}
