import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import type { Browser, Page } from 'playwright-core'
import { openProxy } from '../http/harness.ts'
import type { Proxy, ProxyOptions } from '../http/harness.ts'
import { makeFolder } from '../tools/session.ts'
import { expectAccessible } from './accessible.ts'
import { launch, openTab } from './browser.ts'
import type { Look, Tab } from './browser.ts'
import { expectLayout } from './layout.ts'
import { hostile } from './scenes.ts'

/*
 * The views for everybody, on a real daemon with a simulated GitHub, without a workspace.
 */

let browser: Browser
beforeAll(async () => {
  browser = await launch()
})
afterAll(() => browser.close())

interface Opened extends Tab {
  readonly proxy: Proxy
}

async function open(hash: string, options: ProxyOptions & { readonly as?: 'owner' | 'anybody' } = {}, look: Look = {}) {
  const { as = 'owner', ...given } = options
  const proxy = await openProxy(given)
  const address = as === 'owner' ? proxy.daemon.createPageAddress() : `${proxy.daemon.url}/`
  const tab = await openTab(browser, address, look)
  onTestFinished(() => tab.close())
  await tab.page.getByText('Live', { exact: true }).waitFor()
  await show(tab.page, hash)
  return { ...tab, proxy } satisfies Opened
}

const views = ['Overview', 'Requests', 'Models', 'Logins', 'Keys', 'Clients'] as const

async function show(page: Page, view: string): Promise<void> {
  await page.getByRole('link', { name: view, exact: true }).click()
  await page.getByRole('heading', { name: view, exact: true, level: 2 }).waitFor()
  await page.locator('.view-content:not([hidden])').waitFor()
}

const keys = ['laptop', 'build'].map((name) => `${name}:sha256:${'0'.repeat(64)}`)
const busy: ProxyOptions = {
  file: `{ usage: { credits-per-day: 40, credits-per-month: 900 }, models: { aliases: { best: [gpt-5-mini, gpt-4.1] } },
    server: { api-keys: [${keys.join(', ')}], key-limits: { laptop: { credits-per-day: 5, models: ["gpt-*"] } } } }`,
}

const looks: readonly (readonly [string, Look])[] = [
  ['desktop, light', {}],
  ['desktop, dark', { scheme: 'dark' }],
  ['360 pixels, light', { width: 360, height: 740 }],
  ['360 pixels, dark', { width: 360, height: 740, scheme: 'dark' }],
  ['forced colours', { forcedColors: 'active' }],
]

test.each(looks)('%s: axe-core finds nothing in any view, and the layouts hold', async (name, look) => {
  const { page, proxy, complaints } = await open('Overview', busy, look)
  const authorization = `Bearer ${proxy.daemon.ownerToken}`
  await proxy.chat({}, { headers: { authorization } })
  await proxy.chat({ model: 'no-such-model' }, { headers: { authorization } })
  for (const view of views) {
    await show(page, view)
    await expectAccessible(page)
    if (look.forcedColors === undefined) await expectLayout(page, `${view.toLowerCase()} view, ${name}`)
  }
  expect(complaints).toEqual([])
})

test.each(looks.slice(0, 4))('%s: the first page of a newcomer is accessible too', async (_name, look) => {
  const { page } = await open('Overview', { login: 'none' }, look)
  await page.getByRole('heading', { name: 'Log in first' }).waitFor()
  await expectAccessible(page)
  await show(page, 'Logins')
  await page.getByRole('button', { name: 'Log in with GitHub' }).click()
  await page.getByText('Type this code at GitHub').waitFor()
  await expectAccessible(page)
})

const loadedFiles = (page: Page) =>
  page.evaluate(() => performance.getEntriesByType('resource').map(({ name }) => new URL(name).pathname))

test('the modules for sessions load only with a workspace', async () => {
  const { page, proxy } = await open('Overview')
  for (const view of views) await show(page, view)
  const sessionFiles = /sessions|session-|composer|follow-events|run-view|approval|diff|markdown/
  expect((await loadedFiles(page)).filter((file) => sessionFiles.test(file))).toEqual([])
  expect(await page.getByRole('link', { name: 'Sessions' }).isVisible()).toBe(false)
  // A workspace that comes later shows its sessions without a new load.
  proxy.daemon.reconfigure(proxy.configure(`workspaces: [${await makeFolder()}]`))
  await page.getByRole('link', { name: 'Sessions' }).click()
  await page.locator('#message-text').waitFor()
  expect(await loadedFiles(page)).toContain('/page/sessions-view.js')
  proxy.daemon.reconfigure(proxy.configure(''))
  await page.getByRole('heading', { name: 'Overview', level: 2 }).waitFor()
  expect(await page.getByRole('link', { name: 'Sessions' }).isVisible()).toBe(false)
})

describe('a newcomer', () => {
  test('is led to the logins, logs in in the page, and out again', async () => {
    const { page, proxy, complaints } = await open('Overview', { login: 'none' })
    await page.getByRole('link', { name: 'Go to the logins' }).click()
    await page.getByRole('button', { name: 'Log in with GitHub' }).click()
    await page
      .getByLabel('Code', { exact: true })
      .getByText(/^DEMO-\d+$/)
      .waitFor()
    const code = await page.getByLabel('Code', { exact: true }).textContent()
    await page.getByRole('button', { name: 'Copy the code' }).click()
    expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(code)
    const link = page.getByRole('link', { name: /^Open .*\/login\/device$/ })
    expect(await link.getAttribute('href')).toBe(`${proxy.demo.url}/login/device`)
    // A second page shows the same login.
    const second = await openTab(browser, proxy.daemon.createPageAddress())
    onTestFinished(() => second.close())
    await show(second.page, 'Logins')
    await second.page.getByText(code ?? 'no code').waitFor()

    await page.getByText('Logged in as demo-user@127.0.0.1, with Copilot Pro.').first().waitFor()
    await page.getByText('In use', { exact: true }).waitFor()
    await show(page, 'Overview')
    await page.getByRole('heading', { name: 'No requests yet' }).waitFor()
    await page.getByRole('button', { name: 'Copy: copilot-proxy launch claude' }).click()
    expect(await page.evaluate(() => navigator.clipboard.readText())).toBe('copilot-proxy launch claude')

    await show(page, 'Logins')
    await page.getByRole('button', { name: 'Log out' }).click()
    await page.getByText('Not logged in', { exact: true }).first().waitFor()
    expect(await proxy.store.list()).toEqual([])
    expect(complaints).toEqual([])
  })

  test('cancels a login', async () => {
    const { page } = await open('Logins', { login: 'none' })
    await page.getByRole('button', { name: 'Log in with GitHub' }).click()
    await page.getByRole('button', { name: 'Cancel' }).click()
    await page.getByRole('button', { name: 'Log in with GitHub' }).waitFor()
  })

  test('logs in by keyboard: the focus stays in the card, and goes on with the link to GitHub', async () => {
    const { page } = await open('Logins', { login: 'none' })
    const focused = () => page.evaluate(() => document.activeElement?.textContent ?? '')
    await page.getByRole('button', { name: 'Log in with GitHub' }).focus()
    await page.keyboard.press('Enter')
    await page.getByText('Type this code at GitHub').waitFor()
    expect(await page.evaluate(() => document.activeElement?.className)).toBe('login-body')
    await page.keyboard.press('Tab')
    expect(await focused()).toBe('Copy')
    await page.keyboard.press('Tab')
    expect(await focused()).toMatch(/^Open .*\/login\/device$/)
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: 'Log in with GitHub' }).waitFor()
    await page.keyboard.press('Tab')
    expect(await focused()).toBe('Log in with GitHub')
  })

  test('reads in words why a login ended, and starts again', async () => {
    const { page } = await open('Logins', { login: 'none', demo: { polls: ['denied'] } })
    await page.getByRole('button', { name: 'Log in with GitHub' }).click()
    await page.getByText('The login was cancelled at GitHub.').waitFor()
    await page.getByRole('button', { name: 'Log in with GitHub' }).waitFor()
  })
})

test('a page that is not the owner shows the commands in place of the buttons', async () => {
  const { page, proxy, complaints } = await open('Logins', { as: 'anybody' })
  expect(await page.getByRole('button', { name: /^Log (?:in|out)/ }).count()).toBe(0)
  await page.getByRole('button', { name: 'Copy: copilot-proxy login codex' }).click()
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe('copilot-proxy login codex')
  await expectAccessible(page)
  await show(page, 'Models')
  await page.getByRole('button', { name: 'Copy: copilot-proxy models enable claude-opus-4.5' }).waitFor()
  expect(await page.getByRole('button', { name: /^Enable/ }).count()).toBe(0)
  await expectAccessible(page)
  expect(proxy.demo.log.filter(({ path }) => path.startsWith('/login/'))).toEqual([])
  expect(complaints).toEqual([])
})

test('the owner searches a model, reads its terms and enables it', async () => {
  const { page } = await open('Models')
  await page.getByLabel('Search').fill('opus 4.5')
  await page.getByText(/^\d+ of \d+ models$/).waitFor()
  await page.getByRole('button', { name: 'Enable claude-opus-4.5' }).click()
  await page.getByText(/^Enable access to/).waitFor()
  await expectAccessible(page)
  await page.getByRole('button', { name: 'Accept and enable' }).click()
  await expect.poll(() => page.getByRole('button', { name: 'Enable claude-opus-4.5' }).count()).toBe(0)
  expect(await page.evaluate(() => document.activeElement?.tagName)).toBe('TBODY')
  await page.getByLabel('Search').fill('no such model')
  await page.getByText('No model matches the search.').waitFor()
})

test('a used-up budget says so, and the owner lifts it', async () => {
  const { page, proxy } = await open('Overview', { file: 'usage: { credits-per-day: 0.001 }' })
  await proxy.chat()
  await page.getByText('Used up: requests are refused.').waitFor()
  expect((await proxy.chat()).status).toBe(429)
  await page.getByRole('button', { name: 'Allow requests until midnight' }).focus()
  await page.keyboard.press('Enter')
  await page.getByText('Lifted until midnight.').waitFor()
  // The button is gone; the focus is where it was.
  expect(await page.evaluate(() => document.activeElement?.className)).toBe('cards')
  expect((await proxy.chat()).status).toBe(200)
})

test('live values change in place: nothing on the page moves', async () => {
  const { page, proxy } = await open('Overview')
  await proxy.chat()
  await page.getByRole('row', { name: /gpt-5-mini/ }).waitFor()
  await page.evaluate(() => {
    Object.assign(globalThis, { moved: [] })
    new PerformanceObserver((list) => {
      const moved: unknown = Reflect.get(globalThis, 'moved')
      if (Array.isArray(moved)) moved.push(...list.getEntries().map((entry) => entry.toJSON()))
    }).observe({ type: 'layout-shift' })
  })
  for (let each = 0; each < 3; each += 1) await proxy.chat()
  await page
    .getByRole('row', { name: /gpt-5-mini.* 4 / })
    .or(page.getByRole('cell', { name: '4', exact: true }))
    .first()
    .waitFor()
  expect(await page.evaluate('moved')).toEqual([])
})

test('hostile names of models and clients stay text', async () => {
  const name = '<img src=x onerror="document.title=1">\u202Egpt'
  const { page, proxy, complaints } = await open('Overview', {
    file: `models: { aliases: { '<b>bold</b>': gpt-5-mini } }`,
  })
  await proxy.chat({ model: `${name}${hostile}` }, { headers: { 'user-agent': '<script>document.title=2</script>/1' } })
  for (const view of ['Requests', 'Models', 'Overview']) {
    await show(page, view)
    if (view === 'Requests') await page.locator('table.requests').getByText('\\u{202e}').first().waitFor()
    if (view === 'Models') await page.getByText('<b>bold</b>').waitFor()
    expect(await page.locator('main img, main b, main script, main [onerror]').count()).toBe(0)
    expect(await page.title()).toBe(`${view} – copilot-proxy`)
  }
  expect(complaints).toEqual([])
})

test('a lost connection says so and what to do, and recovers by itself', async () => {
  const { page, proxy } = await open('Overview')
  await page.context().setOffline(true)
  await page.getByText('copilot-proxy does not answer.').waitFor()
  await page.getByText('Connection lost').waitFor()
  await expectAccessible(page)
  await proxy.chat()
  await page.context().setOffline(false)
  await page.getByText('Live', { exact: true }).waitFor()
  expect(await page.getByText('copilot-proxy does not answer.').isVisible()).toBe(false)
  await page.getByRole('row', { name: /gpt-5-mini/ }).waitFor()
})

test('the chart has a text and a table, and changes its unit', async () => {
  const { page, proxy } = await open('Overview')
  await proxy.chat()
  const chart = page.getByRole('img', { name: /in 30 days; .* the busiest day$/ })
  await chart.waitFor()
  await page.getByRole('radio', { name: 'Requests' }).check()
  await page.getByRole('img', { name: /^1 request in 30 days, 0 failed; 1 request on .*, the busiest day$/ }).waitFor()
  await page.getByText('As a table').click()
  expect(await page.getByRole('figure').getByRole('row').count()).toBe(2)
})

test('every view is reached by keyboard alone, and gets the focus', async () => {
  const { page } = await open('Overview')
  for (const view of views.slice(1)) {
    await page.getByRole('link', { name: view, exact: true }).focus()
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: view, exact: true, level: 2 }).waitFor()
    await expect.poll(() => page.evaluate(() => document.activeElement?.id)).toBe('main')
  }
})
