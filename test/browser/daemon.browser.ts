import { execFile, spawn } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Browser } from 'playwright-core'
import { expectAccessible } from './accessible.ts'
import { launch, openTab } from './browser.ts'

const root = join(import.meta.dirname, '../..')
const key = 'sk-local-0123456789abcdef0123456789'

let browser: Browser
let dir = ''
let url = ''
let daemon: ReturnType<typeof spawn>

/** The repository of docs/agent.md: one function, whose test fails. */
beforeAll(async () => {
  browser = await launch()
  dir = await mkdtemp(join(tmpdir(), 'copilot-proxy-page-'))
  const files = {
    'package.json': '{ "name": "shop", "type": "module", "scripts": { "test": "node --test" } }\n',
    'src/total.js':
      '/** The price of an order. */\nexport function total(items) {\n  return items.reduce((sum, item) => sum + item.price, 0)\n}\n',
    'test/total.test.js':
      "import assert from 'node:assert/strict'\nimport { test } from 'node:test'\nimport { total } from '../src/total.js'\n\n" +
      "test('counts each item as often as it is ordered', () => {\n  assert.equal(total([{ price: 2, quantity: 3 }, { price: 5, quantity: 1 }]), 11)\n})\n",
    '.agent-policy.yaml': 'writes:\n  allow: ["src/**"]\nshell:\n  allow: ["npm test"]\n',
  }
  for (const [path, text] of Object.entries(files)) {
    await mkdir(join(dir, 'shop', path, '..'), { recursive: true })
    await writeFile(join(dir, 'shop', path), text)
  }
  await policy('trust', '--yes')
  daemon = spawn(
    process.execPath,
    ['src/main.ts', 'serve', '--demo', '--port', '0', '--workspace', join(dir, 'shop')],
    {
      cwd: root,
      stdio: ['ignore', 'pipe', 'ignore'],
      env: {
        ...process.env,
        COPILOT_PROXY_HOME: join(dir, 'home'),
        COPILOT_PROXY_WORKSPACE_READ_ONLY: 'false',
        COPILOT_PROXY_SERVER_API_KEYS: key,
      },
    },
  )
  if (daemon.stdout === null) throw new Error('no output')
  for await (const line of createInterface(daemon.stdout)) {
    url = /listening on (\S+)/.exec(line)?.[1] ?? ''
    if (url !== '') break
  }
})

/** Runs a command for the policy of the folder. */
async function policy(...words: readonly string[]): Promise<void> {
  const env = { ...process.env, COPILOT_PROXY_HOME: join(dir, 'home') }
  await promisify(execFile)(process.execPath, [join(root, 'src/main.ts'), 'policy', ...words], {
    cwd: join(dir, 'shop'),
    env,
  })
}

/** Returns an address that makes a page the owner's. */
async function ownerAddress(): Promise<string> {
  const { stdout } = await promisify(execFile)(process.execPath, ['src/main.ts', 'page', '--print'], {
    cwd: root,
    env: {
      ...process.env,
      COPILOT_PROXY_HOME: join(dir, 'home'),
      COPILOT_PROXY_SERVER_PORT: new URL(url).port,
      COPILOT_PROXY_SERVER_API_KEYS: key,
    },
  })
  return stdout.trim()
}

afterAll(async () => {
  const ended = new Promise((resolve) => daemon.once('exit', resolve))
  daemon.kill('SIGTERM')
  await ended
  await browser.close()
  await rm(dir, { recursive: true })
})

test('a person has a failing test fixed by the agent of a real daemon, and finds its requests and its history', async () => {
  const { page, complaints, close } = await openTab(browser, url)
  await page.getByLabel('Key', { exact: true }).fill(key)
  await page.keyboard.press('Enter')
  await page.getByText('Live', { exact: true }).waitFor()

  await page.getByRole('radio', { name: 'Agent' }).check()
  await page.locator('#message-text').fill('The test fails. Fix it. [demo:script fix-test]')
  await page.keyboard.press('Enter')

  const command = page.getByRole('region', { name: 'Run this command?' })
  await command.getByRole('button', { name: 'Allow for this run' }).click()
  const change = page.getByRole('region', { name: 'Change src/total.js?' })
  await change.getByText('sum + item.price * item.quantity').waitFor()
  await expectAccessible(page)
  await change.getByRole('button', { name: 'Allow once' }).click()
  await page.getByText('Completed', { exact: true }).waitFor()
  expect(await readFile(join(dir, 'shop/src/total.js'), 'utf8')).toContain('item.price * item.quantity')

  // A new load knows the run from the history, and its steps on request.
  await page.reload()
  await page.getByText('Completed', { exact: true }).waitFor()
  await page.getByRole('button', { name: 'Show the steps' }).click()
  await page.getByText('src/total.js').first().waitFor()
  await page.getByText('The code ignores the quantity. I multiply by it.').waitFor()

  // What comes back is shown first. The state stays after a new load.
  const text = () => readFile(join(dir, 'shop/src/total.js'), 'utf8')
  await page.getByRole('button', { name: 'Undo run' }).click()
  const question = page.getByRole('dialog', { name: 'Undo all changes of this run?' })
  await question.getByText('item.price * item.quantity').waitFor()
  await expectAccessible(page)
  await question.getByRole('button', { name: 'Keep' }).click()
  expect(await text()).toContain('item.price * item.quantity')
  await page.getByRole('button', { name: 'Undo run' }).click()
  await question.getByRole('button', { name: 'Undo', exact: true }).click()
  await page.locator('.run-changes > .tag', { hasText: 'undone' }).waitFor()
  expect(await text()).not.toContain('item.quantity')
  await page.reload()
  await page.locator('.run-changes > .tag', { hasText: 'undone' }).waitFor()
  expect(await page.getByRole('button', { name: 'Undo run' }).count()).toBe(0)

  // The undo is a change too: it is undone from the list of the session.
  await page.getByRole('button', { name: 'Changes', exact: true }).click()
  const list = page.getByRole('dialog', { name: 'Changes' })
  await list.getByText('All files are as they were').waitFor()
  await list.getByRole('button', { name: 'Undo src/total.js' }).click()
  const again = page.getByRole('dialog', { name: 'Undo this change?' })
  await again.getByRole('button', { name: 'Undo', exact: true }).click()
  await list.getByText('All changes together:').waitFor()
  await list.getByText('item.price * item.quantity').waitFor()
  await expectAccessible(page)
  await list.getByRole('button', { name: 'Close' }).click()
  await page.getByRole('button', { name: 'Undo run' }).waitFor()
  expect(await text()).toContain('item.price * item.quantity')

  await page.getByRole('link', { name: 'Requests' }).click()
  await page.locator('table.requests tbody tr').first().waitFor()
  await page.locator('table.requests tbody tr a').first().click()
  // Requests of the agent have no command.
  await page.getByText('Bodies are kept only while log.bodies is on.').waitFor()
  await expectAccessible(page)
  expect(complaints).toEqual([])
  await close()
})

test('copilot-proxy page opens the page as the owner, without a key and once', async () => {
  const address = await ownerAddress()
  const { page, complaints, close } = await openTab(browser, address)
  await page.getByText('Live', { exact: true }).waitFor()
  expect(page.url()).not.toContain('code')
  // The tab keeps its token.
  await page.reload()
  await page.getByText('Live', { exact: true }).waitFor()
  const caller = await page.evaluate(async () => {
    const authorization = `Bearer ${sessionStorage.getItem('copilot-proxy key')}`
    return (await fetch('caller', { headers: { authorization } })).json()
  })
  expect(caller).toEqual({ key: null, owner: true, sessions: true })
  expect(complaints).toEqual([])
  await close()

  const second = await openTab(browser, address)
  await second.page.getByLabel('Key', { exact: true }).waitFor()
  await second.page.getByRole('alert').getByText('for a new one, run: copilot-proxy page').waitFor()
  await second.close()
})

test('the owner confirms a policy that came with the folder, and allows a command always by the rule that is shown', async () => {
  await policy('forget', '--all')
  const { page, complaints, close } = await openTab(browser, await ownerAddress())
  await page.getByText('Live', { exact: true }).waitFor()
  const send = async (text: string) => {
    const steps = [{ calls: [{ tool: 'shell_run', args: { argv: ['npm', 'test'] } }] }, { text }]
    await page.getByRole('radio', { name: 'Agent' }).check()
    await page.locator('#message-text').fill(`Test it. [demo:script ${JSON.stringify(steps)}]`)
    await page.keyboard.press('Enter')
  }
  // A conversation that a key has begun is not the owner's to continue.
  await page.getByRole('button', { name: 'New', exact: true }).click()
  await send('Tested once.')
  const trust = page.getByRole('region', { name: 'Let tools do what .agent-policy.yaml allows?' })
  await trust.getByText('allow: ["src/**"]').waitFor()
  expect(await trust.getByRole('button').allTextContents()).toEqual(['Confirma', 'Not nown'])
  await expectAccessible(page)
  await trust.getByRole('button', { name: 'Confirm' }).click()
  const command = page.getByRole('region', { name: 'Run this command?' })
  await command.getByText('run npm test', { exact: true }).waitFor()
  await expectAccessible(page)
  // The keys of the question answer it while it has the focus.
  await command.focus()
  await page.keyboard.press('a')
  await page.getByText('Tested once.', { exact: true }).first().waitFor()
  await page.getByText('Allowed always', { exact: true }).waitFor()
  await send('Tested again.')
  await page.getByText('Tested again.', { exact: true }).first().waitFor()

  await page.getByRole('button', { name: 'Details' }).click()
  const details = page.getByRole('dialog', { name: 'shop' })
  await details.getByText('What is allowed here').waitFor()
  await details.getByText('run npm test', { exact: true }).waitFor()
  await expectAccessible(page)
  expect(complaints).toEqual([])
  await close()
})

test('on a narrow screen, the owner of the demo sees the whole head of the page', async () => {
  const { page, close } = await openTab(browser, await ownerAddress(), { width: 360, height: 740 })
  await page.getByText('Live', { exact: true }).waitFor()
  await page.getByText('Demo: all answers are simulated').waitFor()
  const ends = await page
    .locator('.top-end > :visible')
    .evaluateAll((nodes) => nodes.map((node) => node.getBoundingClientRect().right))
  expect(ends.length).toBeGreaterThan(2)
  expect(Math.max(...ends)).toBeLessThanOrEqual(360)
  await close()
})
