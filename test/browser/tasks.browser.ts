import { spawn } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import type { Browser } from 'playwright-core'
import { differencesOf, shop, smallTasks } from '../agent/tasks.ts'
import { launch, openTab } from './browser.ts'

// The same tasks on a terminal and in an editor: test/cli/agent-tasks.test.ts.

let browser: Browser

beforeAll(async () => {
  browser = await launch()
})

afterAll(() => browser.close())

async function openShop() {
  const dir = await mkdtemp(join(tmpdir(), 'copilot-proxy-tasks-'))
  const root = join(dir, 'shop')
  for (const [path, text] of Object.entries(shop)) {
    await mkdir(dirname(join(root, path)), { recursive: true })
    await writeFile(join(root, path), text)
  }
  const daemon = spawn(process.execPath, ['src/main.ts', 'serve', '--demo', '--port', '0', '--workspace', root], {
    cwd: join(import.meta.dirname, '../..'),
    stdio: ['ignore', 'pipe', 'ignore'],
    // Without a key, a page may answer questions only if the command `page` has opened it.
    env: { ...process.env, COPILOT_PROXY_HOME: join(dir, 'home'), COPILOT_PROXY_SERVER_API_KEYS: key },
  })
  const ended = new Promise((resolve) => daemon.once('exit', resolve))
  const url = new Promise<string>((resolve) => {
    createInterface(daemon.stdout).on('line', (line) => {
      const [, found] = /listening on (\S+)/.exec(line) ?? []
      if (found !== undefined) resolve(found)
    })
  })
  onTestFinished(async () => {
    daemon.kill('SIGTERM')
    await ended
    await rm(dir, { recursive: true })
  })
  return { root, url: await url }
}

const key = 'sk-local-0123456789abcdef0123456789'

test.for(smallTasks)('on the page, the agent $name', async (task) => {
  const { root, url } = await openShop()
  const { page, complaints, close } = await openTab(browser, url)
  await page.getByLabel('Key', { exact: true }).fill(key)
  await page.keyboard.press('Enter')
  await page.getByText('Live', { exact: true }).waitFor()
  await page.getByRole('radio', { name: 'Agent' }).check()
  await page.locator('#message-text').fill(task.goal)
  await page.keyboard.press('Enter')
  const decide = page.getByRole('button', { name: task.isAllowed ? 'Allow once' : 'Refuse', exact: true })
  for (let asked = 0; asked < task.questions; asked += 1) {
    await decide.click()
    await decide.waitFor({ state: 'detached' })
  }
  await page.locator('p.outcome').waitFor()
  await page.getByText(task.says).first().waitFor()
  expect(await differencesOf(task, (path) => readFile(join(root, path), 'utf8'))).toEqual([])
  expect(complaints).toEqual([])
  await close()
})
