import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { Browser, Page } from 'playwright-core'
import { expectAccessible } from './accessible.ts'
import { launch, openTab } from './browser.ts'
import type { Look, Tab } from './browser.ts'
import { startFakeDaemon } from './fake-daemon.ts'
import type { FakeDaemon, FakeState } from './fake-daemon.ts'
import { expectLayout } from './layout.ts'
import { detail, history, hostile, requests, sessionDetails, shop, site, untilApproval, untilDone } from './scenes.ts'

let browser: Browser
const opened: { close: () => Promise<void> }[] = []

beforeAll(async () => {
  browser = await launch()
})
afterAll(() => browser.close())
afterEach(async () => {
  for (const each of opened.splice(0).toReversed()) await each.close()
})

async function startDaemon(change: Partial<FakeState> = {}): Promise<FakeDaemon> {
  const daemon = await startFakeDaemon({
    sessions: [shop, site],
    messages: { [shop.id]: history },
    requests: [...requests],
    details: { [detail.id]: detail },
    ...change,
  })
  opened.push(daemon)
  return daemon
}

async function open({ url }: FakeDaemon, hash = '', look: Look = {}): Promise<Tab> {
  const tab = await openTab(browser, `${url}/${hash}`, look)
  opened.push(tab)
  return tab
}

/** A tab that shows the session of the scenes, with all events so far. */
async function openSession(daemon: FakeDaemon, look: Look = {}): Promise<Tab> {
  const tab = await open(daemon, '', look)
  await tab.page.getByText('Live', { exact: true }).waitFor()
  return tab
}

const approval = (page: Page) => page.getByRole('region', { name: 'Change src/total.ts?' })

const looks: readonly (readonly [string, Look])[] = [
  ['desktop, light', {}],
  ['desktop, dark', { scheme: 'dark' }],
  ['360 pixels, light', { width: 360, height: 740 }],
  ['360 pixels, dark', { width: 360, height: 740, scheme: 'dark' }],
  ['forced colours', { forcedColors: 'active' }],
]

describe.each(looks)('%s', (name, look) => {
  const scenes: readonly (readonly [string, (daemon: FakeDaemon) => Promise<Tab>])[] = [
    [
      'approval',
      async (daemon) => {
        const tab = await openSession(daemon, look)
        untilApproval(daemon)
        await approval(tab.page).waitFor()
        return tab
      },
    ],
    [
      'session',
      async (daemon) => {
        const tab = await openSession(daemon, look)
        untilApproval(daemon)
        untilDone(daemon)
        await tab.page.getByText('Completed', { exact: true }).waitFor()
        await tab.page.getByText('shell_run').first().click()
        await tab.page.getByText('edit_applyPatch').click()
        await tab.page.getByText('edit_applyPatch').scrollIntoViewIfNeeded()
        return tab
      },
    ],
    [
      'details',
      async (daemon) => {
        Object.assign(daemon.state, sessionDetails)
        const tab = await openSession(daemon, look)
        await tab.page.getByRole('button', { name: 'Details' }).click()
        await tab.page.getByText('issues', { exact: true }).click()
        await tab.page.getByText('builds', { exact: true }).click()
        await tab.page.getByText('Build 41 failed.').waitFor()
        await tab.page.getByText('"tool": "mcp.fs.read"').waitFor()
        return tab
      },
    ],
    [
      'requests',
      async (daemon) => {
        const tab = await open(daemon, '#/requests', look)
        await tab.page.getByRole('link', { name: '14:03:24' }).waitFor()
        return tab
      },
    ],
    [
      'request',
      async (daemon) => {
        const tab = await open(daemon, `#/requests/${detail.id}`, look)
        await tab.page.getByText('Repeat it with curl').waitFor()
        return tab
      },
    ],
    [
      'key',
      async (daemon) => {
        daemon.state.key = 'right-key'
        const tab = await open(daemon, '', look)
        await tab.page.getByLabel('Key', { exact: true }).waitFor()
        return tab
      },
    ],
  ]

  test.each(scenes)('%s: axe-core finds nothing, and the layout holds', async (scene, show) => {
    const { page, complaints } = await show(await startDaemon())
    await expectAccessible(page)
    if (look.forcedColors === undefined) await expectLayout(page, `${scene}, ${name}`)
    expect(complaints).toEqual([])
  })
})

describe('a session', () => {
  test('shows what arrives while it is open, and the history before it', async () => {
    const daemon = await startDaemon()
    const { page } = await openSession(daemon)
    await page.getByText('Where is the price of an order computed?').waitFor()
    untilApproval(daemon)
    await approval(page).waitFor()
    await page.getByRole('link', { name: /^shop.*waits for you/ }).waitFor()
    untilDone(daemon)
    await page
      .getByText('gpt-5-mini · 4 steps · 4 requests · 18,240 in (14,080 cached), 912 out · 0.41 credits')
      .waitFor()
    await page.getByRole('link', { name: /^shop.*idle/ }).waitFor()
  })

  test('a text of a model stays text, whatever it contains', async () => {
    const daemon = await startDaemon()
    const { page, complaints } = await openSession(daemon)
    const run = { id: 'evil', sessionId: shop.id }
    daemon.emitAll([
      { ...run, type: 'inbound', text: hostile, mode: 'agent', origin: 'provider', provider: hostile },
      { ...run, type: 'fragment', kind: 'answer', text: hostile },
      { ...run, type: 'fragment', kind: 'thinking', text: hostile },
      { ...run, type: 'fragment', kind: 'step', text: hostile },
      { ...run, type: 'tool', callId: hostile, tool: hostile, step: 1, state: 'started', args: { path: hostile } },
      {
        ...run,
        type: 'tool',
        callId: hostile,
        tool: hostile,
        step: 1,
        state: 'ended',
        // No outcome of a daemon.
        outcome: JSON.parse(JSON.stringify(hostile)),
        message: hostile,
        result: hostile,
        durationMs: 1,
      },
      {
        ...run,
        type: 'approval',
        approvalId: 'x',
        callId: hostile,
        tool: hostile,
        state: 'pending',
        argv: [hostile, '\u202E'],
        cwd: hostile,
        diff: hostile,
      },
      { sessionId: shop.id, type: 'push', provider: hostile, stream: hostile, level: 'surface', text: hostile },
    ])
    await page.getByRole('button', { name: 'Allow once' }).waitFor()
    for (const details of await page.locator('main details').all())
      await details.evaluate((node) => node.setAttribute('open', ''))
    await page.getByText('\\u{202e}').waitFor()
    expect(await page.locator('main img, main script, main style, main [onerror], main iframe').count()).toBe(0)
    const targets = await page
      .locator('main a[href]')
      .evaluateAll((links) => links.map((link) => link.getAttribute('href') ?? ''))
    expect(targets.filter((href) => !href.startsWith('#/') && !href.startsWith('https://evil.example/p.png'))).toEqual(
      [],
    )
    expect(await page.title()).toBe('shop – copilot-proxy')
    expect(complaints).toEqual([])
  })

  test('resumes after a lost connection where it was', async () => {
    const daemon = await startDaemon()
    const { page } = await openSession(daemon)
    untilApproval(daemon)
    await approval(page).waitFor()
    daemon.dropStreams()
    await page.getByText('Connection lost').waitFor()
    untilDone(daemon)
    await page.getByText('Completed', { exact: true }).waitFor()
    expect(await page.getByText(/^Missed events:/).count()).toBe(0)
    // Each event once.
    expect(await page.getByText('Step 4 of 30').count()).toBe(1)
  })

  test('tells of lost events and reads again what ended meanwhile', async () => {
    const daemon = await startDaemon()
    const { page } = await openSession(daemon)
    untilApproval(daemon)
    await approval(page).waitFor()
    expect(daemon.listeners()).toBe(1)
    daemon.state.runs['run-fix'] = {
      id: 'run-fix',
      sessionId: shop.id,
      conversationId: 'c1',
      text: 'Fix it',
      mode: 'agent',
      origin: 'user',
      step: 1,
      startedAt: '2026-11-24T14:03:00.000Z',
      approvals: [],
      files: [],
      changes: [],
      requests: 1,
      usage: { inputTokens: 1, outputTokens: 1, cachedInputTokens: 0 },
      state: 'ended',
      outcome: 'cancelled',
      reason: 'The person cancelled the run.',
      steps: [{ step: 1, texts: [], calls: [{ callId: 'c1', tool: 'shell_run', outcome: 'ok' }] }],
    }
    daemon.dropStreams()
    await page.getByText('Connection lost').waitFor()
    untilDone(daemon)
    daemon.forgetEvents(30)
    await page.getByText(/^Missed events: \d+/).waitFor()
    await page.getByText('The person cancelled the run.').waitFor()
    expect(await page.getByRole('button', { name: 'Allow once' }).count()).toBe(0)
  })

  test('says what failed when a message is refused, and keeps its text', async () => {
    const daemon = await startDaemon({
      act: () => ({ status: 429, body: { error: { message: 'Too many runs wait.', code: 'too_many_runs' } } }),
    })
    const { page } = await openSession(daemon)
    await page.getByLabel('Message', { exact: true }).last().fill('Fix it')
    await page.keyboard.press('Enter')
    await page.getByText('Too many runs wait.').waitFor()
    expect(await page.locator('#message-text').inputValue()).toBe('Fix it')
  })

  test('Enter sends, but not the one with which an input method accepts a word', async () => {
    const daemon = await startDaemon()
    const { page } = await openSession(daemon)
    await page.locator('#message-text').fill('日本')
    const enter = async (keyCode: number) => {
      const browserKeys = await page.context().newCDPSession(page)
      const key = { key: 'Enter', code: 'Enter', windowsVirtualKeyCode: keyCode, text: '\r' }
      await browserKeys.send('Input.dispatchKeyEvent', { type: 'keyDown', ...key })
      await browserKeys.send('Input.dispatchKeyEvent', { type: 'keyUp', ...key })
    }
    const sent = () => daemon.seen.filter(({ url }) => url === '/message').length
    // Safari's, after the end of the composition.
    await enter(229)
    await enter(13)
    await expect.poll(sent).toBe(1)
    expect(daemon.seen.find(({ url }) => url === '/message')?.body).toMatchObject({
      text: expect.stringMatching(/^日本\s*$/),
    })
  })

  test('sends mode, model, steps and attachments', async () => {
    const daemon = await startDaemon()
    const { page } = await openSession(daemon)
    await page.getByRole('radio', { name: 'Agent' }).check()
    await page.getByLabel('Model').selectOption('claude-sonnet-4.6')
    await page.getByLabel('Max steps').fill('7')
    await page.locator('#message-files').setInputFiles([
      { name: 'log.txt', mimeType: 'text/plain', buffer: Buffer.from('red') },
      { name: 'shot.png', mimeType: 'image/png', buffer: Buffer.from([1, 2, 255]) },
    ])
    await page.getByText('shot.png').waitFor()
    await page.locator('#message-text').fill('Fix it')
    await page.getByRole('button', { name: 'Send' }).click()
    await expect
      .poll(() => daemon.seen.find(({ url }) => url === '/message')?.body)
      .toEqual({
        text: 'Fix it',
        sessionId: shop.id,
        mode: 'agent',
        model: 'claude-sonnet-4.6',
        maxSteps: 7,
        attachments: [
          { name: 'log.txt', mediaType: 'text/plain', text: 'red' },
          { name: 'shot.png', mediaType: 'image/png', base64: 'AQL/' },
        ],
      })
  })

  test('shows a plan as markdown, accepts it, and sends messages in the mode plan', async () => {
    const daemon = await startDaemon()
    const { page } = await openSession(daemon)
    await page.getByRole('radio', { name: 'Plan' }).check()
    await page.locator('#message-text').fill('Plan it')
    await page.getByRole('button', { name: 'Send' }).click()
    await expect.poll(() => daemon.seen.find(({ url }) => url === '/message')?.body).toMatchObject({ mode: 'plan' })
    const run = { id: 'run-plan', sessionId: shop.id }
    daemon.emitAll([
      { ...run, type: 'inbound', text: 'Plan it', mode: 'plan', origin: 'user' },
      {
        ...run,
        type: 'approval',
        approvalId: 'plan',
        callId: 'c',
        tool: 'mcp.plan.submit',
        state: 'pending',
        plan: '## Steps\n\n- Change `a.ts` <b>now</b>',
        decisions: ['once', 'refuse'],
      },
    ])
    await page.getByRole('heading', { name: 'Accept this plan?' }).waitFor()
    await page.getByRole('heading', { name: 'Steps' }).waitFor()
    await page.getByText('Change a.ts <b>now</b>').waitFor()
    expect(await page.getByRole('button', { name: /for this run/ }).count()).toBe(0)
    await page.getByRole('button', { name: 'Accept' }).click()
    await page.getByText('Accepted', { exact: true }).waitFor()
    expect(daemon.seen.find(({ url }) => url === '/approvals/plan')?.body).toEqual({ decision: 'once' })
    const accepted = {
      type: 'approval',
      approvalId: 'plan',
      callId: 'c',
      tool: 'mcp.plan.submit',
      state: 'once',
    } as const
    daemon.emit({ ...run, ...accepted })
    // The run goes on as the agent, and so do the next messages.
    await expect.poll(() => page.getByRole('radio', { name: 'Agent' }).isChecked()).toBe(true)
    await page.getByLabel('Max steps').waitFor()
  })

  test('a refused plan, and one of another conversation, leave the mode plan', async () => {
    const daemon = await startDaemon()
    const { page } = await openSession(daemon)
    await page.getByRole('radio', { name: 'Plan' }).check()
    const decided = { type: 'approval', callId: 'c', tool: 'mcp.plan.submit', sessionId: shop.id } as const
    daemon.emitAll([
      { ...decided, id: 'refused', approvalId: 'one', state: 'refuse' },
      { ...decided, id: 'other', approvalId: 'two', state: 'once', conversationId: 'another' },
      { ...decided, id: 'command', approvalId: 'three', state: 'once', tool: 'mcp.shell.run' },
      { id: 'last', sessionId: shop.id, type: 'inbound', text: 'The last event', mode: 'chat', origin: 'user' },
    ])
    await page.getByText('The last event').waitFor()
    expect(await page.getByRole('radio', { name: 'Plan' }).isChecked()).toBe(true)
  })

  test('says of a run that ended in vain why it changed nothing', async () => {
    const daemon = await startDaemon()
    const { page } = await openSession(daemon)
    untilApproval(daemon)
    const reason = 'The model gave its final answer, but nothing was changed: every change or command was denied.'
    daemon.emit({
      id: 'run-fix',
      sessionId: shop.id,
      type: 'done',
      outcome: 'completed',
      reason,
      summary: `${reason}\nNo file was changed.`,
      answer: 'I could not.',
      steps: 2,
      requests: 2,
      files: [],
      usage: { inputTokens: 1, outputTokens: 1, cachedInputTokens: 0 },
    })
    await page.getByText(reason, { exact: true }).waitFor()
    expect(await page.getByText('Completed', { exact: true }).count()).toBe(0)
  })

  test('keeps the chosen model over a reload', async () => {
    const { page } = await openSession(await startDaemon())
    const model = page.getByLabel('Model')
    await model.selectOption('claude-sonnet-4.6')
    await page.reload()
    await expect.poll(() => model.inputValue()).toBe('claude-sonnet-4.6')
    await model.selectOption('Default model')
    await page.reload()
    await page.getByText('Live', { exact: true }).waitFor()
    await expect.poll(() => model.locator('option').count()).toBeGreaterThan(1)
    expect(await model.inputValue()).toBe('')
  })

  test('a notification in the page names another session that waits, and links to it', async () => {
    const daemon = await startDaemon()
    const { page } = await openSession(daemon)
    const run = { id: 'other', sessionId: site.id }
    daemon.emitAll([
      { ...run, type: 'inbound', text: 'Build it', mode: 'agent', origin: 'user' },
      {
        ...run,
        type: 'approval',
        approvalId: 'b',
        callId: 'c',
        tool: 'shell_run',
        state: 'pending',
        argv: ['npm', 'run', 'build'],
        cwd: '.',
      },
    ])
    await page.getByText('site waits for you').waitFor()
    await page.getByRole('link', { name: 'The agent asks for an approval.' }).click()
    await page.getByText('Run this command?').waitFor()
    expect(page.url()).toContain(`#/sessions/${site.id}`)
  })

  test('says which session runs commands without a sandbox, and why', async () => {
    const daemon = await startDaemon()
    const { page } = await openSession(daemon)
    const mark = page.getByText('no sandbox', { exact: true })
    expect(await mark.isVisible()).toBe(false)
    await page.getByRole('link', { name: site.name }).click()
    await mark.waitFor()
    Object.assign(daemon.state, sessionDetails)
    await page.getByRole('button', { name: 'Details' }).click()
    await page.getByText(site.sandbox.description).waitFor()
  })

  test('cancels a run, and clears the history after a question', async () => {
    const daemon = await startDaemon()
    const { page } = await openSession(daemon)
    untilApproval(daemon)
    await page.getByRole('button', { name: 'Cancel' }).click()
    await expect.poll(() => daemon.seen.some(({ url }) => url === '/runs/run-fix/cancel')).toBe(true)
    untilDone(daemon)
    await page.getByRole('button', { name: 'Clear history' }).click()
    await page.getByRole('button', { name: 'Delete' }).click()
    await page.getByText('No messages yet.').waitFor()
    expect(daemon.seen.findLast(({ method }) => method === 'DELETE')?.url).toBe(`/sessions/${shop.id}/history`)
  })
})

const talk = (id: string, title: string) => ({ id, title, createdAt: '2026-11-24T09:00:00.000Z', isOwn: true })

/** A daemon whose first session has two conversations, and which keeps what is asked of it. */
async function startTalking(): Promise<FakeDaemon> {
  const daemon: FakeDaemon = await startDaemon({
    conversations: { [shop.id]: [talk('c1', 'Prices'), talk('c2', 'Shipping')] },
    act({ method, url, body }) {
      const of = daemon.state.conversations
      const list = of[shop.id] ?? []
      const id = url.split('/')[4]
      if (url === '/message') return { status: 202, body: { id: 'm', sessionId: shop.id, conversationId: 'c1' } }
      if (method === 'POST') of[shop.id] = [talk('c3', ''), ...list]
      if (method === 'DELETE') of[shop.id] = list.filter((each) => each.id !== id)
      const title = JSON.parse(JSON.stringify(body ?? {})).title
      if (method === 'PATCH') of[shop.id] = list.map((each) => (each.id === id ? talk(each.id, title) : each))
      return { status: 200, body: talk('c3', '') }
    },
  })
  return daemon
}

describe('conversations', () => {
  test('are chosen from the list, keep their place over a reload, and show their own messages', async () => {
    const daemon = await startTalking()
    const { page, complaints } = await openSession(daemon)
    const list = page.getByRole('navigation', { name: 'Conversations' })
    await expect.poll(() => page.url()).toContain(`#/sessions/${shop.id}/c1`)
    await page.getByText('Where is the price of an order computed?').waitFor()
    const run = { sessionId: shop.id, type: 'inbound' as const, mode: 'chat' as const, origin: 'user' as const }
    daemon.emit({ ...run, id: 'other', conversationId: 'c2', text: 'Who ships it?' })
    await list.getByRole('link', { name: 'Shipping' }).click()
    await page.getByText('Who ships it?').waitFor()
    expect(await page.getByText('Where is the price of an order computed?').count()).toBe(0)
    await page.reload()
    await list.getByRole('link', { name: 'Shipping', exact: true }).waitFor()
    await expect.poll(() => list.locator('[aria-current]').textContent()).toContain('Shipping')
    await page.locator('#message-text').fill('And when?')
    await page.keyboard.press('Enter')
    await expect
      .poll(() => daemon.seen.find(({ url }) => url === '/message')?.body)
      .toMatchObject({ text: 'And when?', conversationId: 'c2', sessionId: shop.id })
    await expectAccessible(page)
    expect(complaints).toEqual([])
  })

  test('are begun, renamed and deleted with the keyboard', async () => {
    const daemon = await startTalking()
    const { page } = await openSession(daemon)
    const list = page.getByRole('navigation', { name: 'Conversations' })
    await list.getByRole('link', { name: 'Prices' }).waitFor()
    await list.getByRole('button', { name: 'New' }).press('Enter')
    await expect.poll(() => page.url()).toContain('/c3')
    await list.getByRole('link', { name: 'New conversation' }).waitFor()
    await list.getByRole('button', { name: 'Rename' }).press('Enter')
    await expectAccessible(page)
    await page.keyboard.type('Taxes')
    await page.keyboard.press('Enter')
    await list.getByRole('link', { name: 'Taxes' }).waitFor()
    await list.getByRole('button', { name: 'Delete' }).press('Enter')
    await expectAccessible(page)
    await page.getByRole('dialog').getByRole('button', { name: 'Keep' }).press('Enter')
    expect(daemon.seen.some(({ method }) => method === 'DELETE')).toBe(false)
    await list.getByRole('button', { name: 'Delete' }).press('Enter')
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).press('Enter')
    await expect.poll(() => page.url()).toContain('/c1')
    expect(await list.getByRole('link', { name: 'Taxes' }).count()).toBe(0)
    expect(daemon.seen.filter(({ url }) => url.endsWith('/conversations/c3')).map(({ method }) => method)).toEqual([
      'PATCH',
      'DELETE',
    ])
  })

  test('begin anew before the last message when it is tried again or changed', async () => {
    const daemon = await startTalking()
    const { page } = await openSession(daemon)
    await page.getByText('Where is the price of an order computed?').waitFor()
    const forks = () => daemon.seen.filter(({ method, url }) => method === 'POST' && url.endsWith('/conversations'))
    const run = { sessionId: shop.id, conversationId: 'c1', id: 'second' }
    const usage = { inputTokens: 1, outputTokens: 1, cachedInputTokens: 0 }
    daemon.emitAll([
      { ...run, type: 'inbound', text: 'Make it green', mode: 'agent', origin: 'user' },
      {
        ...run,
        type: 'done',
        outcome: 'failed',
        reason: 'No.',
        summary: '',
        answer: '',
        steps: 1,
        requests: 1,
        files: [],
        usage,
      },
    ])
    // Until this message is shown, the one before it has the button.
    const last = page.locator('.run').filter({ hasText: 'Make it green' })
    await last.getByRole('button', { name: 'Try again' }).click()
    await expect
      .poll(() => daemon.seen.find(({ url }) => url === '/message')?.body)
      .toEqual({ text: 'Make it green', mode: 'agent', sessionId: shop.id, conversationId: 'c3' })
    expect(forks().map(({ body }) => body)).toEqual([{ forkOf: 'c1', until: 'run-old' }])
    const list = page.getByRole('navigation', { name: 'Conversations' })
    await list.getByRole('link', { name: 'Prices' }).click()
    await page.getByRole('button', { name: 'Edit' }).click()
    await expect.poll(() => page.locator('#message-text').inputValue()).toBe('Make it green')
    expect(await page.getByRole('radio', { name: 'Agent' }).isChecked()).toBe(true)
    expect(forks()).toHaveLength(2)
    await expectAccessible(page)
  })

  test('say where an approval waits, and show a message that joined a run in its stream', async () => {
    const daemon = await startTalking()
    const { page } = await openSession(daemon)
    const run = { id: 'work', conversationId: 'c2', sessionId: shop.id }
    const message = { ...run, type: 'inbound' as const, mode: 'agent' as const, origin: 'user' as const }
    daemon.emitAll([
      { ...message, text: 'Build it' },
      { ...message, id: 'joined', runId: 'work', text: 'With tabs' },
      { ...run, type: 'approval', approvalId: 'b', callId: 'c', tool: 'shell_run', state: 'pending', argv: ['make'] },
    ])
    const list = page.getByRole('navigation', { name: 'Conversations' })
    await list.getByRole('link', { name: /Shipping.*waits for you/ }).click()
    await page.getByRole('region', { name: 'Message sent meanwhile' }).getByText('With tabs').waitFor()
    await expectAccessible(page)
  })
})

/** Presses Tab until the focus is on what has this name. */
async function tabTo(page: Page, name: RegExp): Promise<void> {
  for (let presses = 0; presses < 60; presses += 1) {
    await page.keyboard.press('Tab')
    const focused = await page.evaluate(
      () => document.activeElement?.getAttribute('aria-label') ?? document.activeElement?.textContent ?? '',
    )
    if (name.test(focused)) return
  }
  throw new Error(`Tab does not reach ${name}`)
}

test('a message that starts with / shows the prompts of MCP servers to choose from', async () => {
  const daemon = await startDaemon({
    prompts: [
      {
        server: 'notes',
        name: 'review',
        description: 'Reviews a file',
        arguments: [{ name: 'file', required: true }, { name: 'depth' }],
      },
      { server: 'notes', name: 'tidy', description: hostile },
    ],
  })
  const { page } = await openSession(daemon)
  const text = page.locator('#message-text')
  const list = page.getByRole('listbox', { name: 'Prompts' })
  await text.fill('a / b')
  expect(daemon.seen.some(({ url }) => url.endsWith('/prompts'))).toBe(false)
  await text.fill('/')
  await list.getByRole('option', { name: '/notes:tidy' }).waitFor()
  await expectAccessible(page)
  await text.fill('/rev')
  await expect.poll(() => list.getByRole('option').count()).toBe(1)
  await list.getByRole('option', { name: '/notes:review file [depth]', selected: true }).waitFor()
  await page.keyboard.press('Enter')
  expect(await text.inputValue()).toBe('/notes:review ')
  await list.waitFor({ state: 'hidden' })
  await page.keyboard.type('a.ts')
  await page.keyboard.press('Enter')
  await expect
    .poll(() => daemon.seen.find(({ url }) => url === '/message')?.body)
    .toMatchObject({ text: '/notes:review a.ts' })
})

test('after an @, files are suggested, and are taken with the keyboard or a click', async () => {
  const files = ['docs/total.md', 'src/my notes.md', 'src/total.js', 'src/total.test.js', 'tools/a.js']
  const daemon = await startDaemon({ files })
  const { page } = await openSession(daemon)
  const text = page.locator('#message-text')
  const list = page.getByRole('listbox', { name: 'Files' })
  await text.fill('Mail me@example.com about ')
  expect(daemon.seen.some(({ url }) => url.endsWith('/files'))).toBe(false)
  await page.keyboard.type('@TO')
  await expect
    .poll(() => list.getByRole('option').allTextContents())
    .toEqual(['docs/total.md', 'src/total.js', 'src/total.test.js', 'tools/a.js'])
  await expectAccessible(page)
  await page.keyboard.press('ArrowDown')
  await list.getByRole('option', { name: 'src/total.js', selected: true }).waitFor()
  await page.keyboard.press('Enter')
  expect(await text.inputValue()).toBe('Mail me@example.com about @src/total.js ')
  await page.keyboard.type('and @note')
  await list.getByRole('option', { name: 'src/my notes.md' }).click()
  expect(await text.inputValue()).toBe('Mail me@example.com about @src/total.js and @"src/my notes.md" ')
  // In the middle of a message, only what is typed is replaced.
  await text.fill('See @ now')
  await text.evaluate((field: HTMLTextAreaElement) => field.setSelectionRange(5, 5))
  await page.keyboard.type('a.j')
  await list.getByRole('option', { name: 'tools/a.js' }).waitFor()
  await page.keyboard.press('Tab')
  expect(await text.inputValue()).toBe('See @tools/a.js now')
  await text.fill('')
  await page.keyboard.type('@total')
  await list.waitFor()
  await page.keyboard.press('Escape')
  await list.waitFor({ state: 'hidden' })
  await page.keyboard.press('Enter')
  await expect.poll(() => daemon.seen.find(({ url }) => url === '/message')?.body).toMatchObject({ text: '@total' })
})

test('the plan of a run is a list above its steps, and hostile text stays text', async () => {
  const daemon = await startDaemon()
  const { page } = await openSession(daemon)
  const run = { id: 'planned', sessionId: shop.id } as const
  daemon.emitAll([
    { ...run, type: 'inbound', text: 'Do it', mode: 'agent', origin: 'user' },
    { ...run, type: 'plan', items: [{ text: 'Read', state: 'in_progress' }] },
    {
      ...run,
      type: 'plan',
      items: [
        { text: 'Read', state: 'completed' },
        { text: hostile, state: 'pending' },
      ],
    },
  ])
  const items = page.getByRole('list', { name: 'Plan' }).getByRole('listitem')
  await items.nth(1).waitFor()
  const [first, second] = await items.allTextContents()
  expect(first).toBe('Readdone')
  expect(second).toContain('to do')
})

describe('an approval of several files', () => {
  const run = { id: 'files', sessionId: shop.id }
  const change = {
    ...run,
    type: 'approval' as const,
    approvalId: 'f1',
    callId: 'f',
    tool: 'mcp.edit.applyPatch',
    state: 'pending' as const,
    paths: ['README.md', 'bin/run.sh', 'empty.txt', 'new.ts', 'old.ts'],
    files: [
      { path: 'README.md', change: 'modified' as const, added: 1, removed: 1 },
      { path: 'bin/run.sh', change: 'modified' as const, executable: true, added: 0, removed: 0 },
      { path: 'empty.txt', change: 'deleted' as const, added: 0, removed: 0 },
      { path: 'new.ts', change: 'renamed' as const, from: 'old.ts', added: 0, removed: 0 },
    ],
    diff:
      'diff --git a/README.md b/README.md\n--- a/README.md\n+++ b/README.md\n@@ -1 +1 @@\n-one\n+two\n' +
      'diff --git a/bin/run.sh b/bin/run.sh\nold mode 100644\nnew mode 100755\n' +
      'diff --git a/empty.txt b/empty.txt\ndeleted file mode 100644\n' +
      'diff --git a/old.ts b/new.ts\nrename from old.ts\nrename to new.ts\n',
  }

  test('has a row for each file, and the number of files in its title', async () => {
    const daemon = await startDaemon()
    const { page } = await openSession(daemon)
    daemon.emitAll([{ ...run, type: 'inbound', text: 'Do it', mode: 'agent', origin: 'user' }, change])
    const shown = page.getByRole('region', { name: 'Change 4 files?' })
    await shown.waitFor()
    expect(await shown.getByRole('list', { name: 'Files' }).getByRole('listitem').allTextContents()).toEqual([
      'README.mdchanged+1 −1',
      'bin/run.shmade executable+0 −0',
      'empty.txtdeleted+0 −0',
      'old.ts → new.tsrenamed+0 −0',
    ])
    await shown.getByRole('button', { name: 'Allow these files for this run' }).click()
    await shown.getByText('Allowed for this run').waitFor()
    expect(daemon.seen.find(({ url }) => url === '/approvals/f1')?.body).toEqual({ decision: 'run' })
  })

  test('of protected files has no button and no key for the run', async () => {
    const daemon = await startDaemon()
    const { page } = await openSession(daemon)
    daemon.emitAll([
      { ...run, type: 'inbound', text: 'Do it', mode: 'agent', origin: 'user' },
      { ...change, decisions: ['once', 'refuse'] },
    ])
    const shown = page.getByRole('region', { name: 'Change 4 files?' })
    await shown.waitFor()
    expect(await shown.getByRole('button', { name: /for this run/ }).count()).toBe(0)
    await shown.focus()
    await page.keyboard.press('r')
    await page.keyboard.press('y')
    await shown.getByText('Allowed once').waitFor()
    expect(daemon.seen.filter(({ url }) => url === '/approvals/f1').map(({ body }) => body)).toEqual([
      { decision: 'once' },
    ])
  })

  const always = {
    ...change,
    decisions: ['once', 'run', 'always', 'refuse'] as ('once' | 'run' | 'always' | 'refuse')[],
    always: ['edit README.md', "edit 'a b.ts'"],
    closed: ['This workspace is read-only.'],
  }

  test('shows what "Always" stores, which gates are closed, and takes the decision of the owner', async () => {
    const daemon = await startDaemon({ caller: { key: null, owner: true } })
    const { page } = await openSession(daemon)
    daemon.emitAll([{ ...run, type: 'inbound', text: 'Do it', mode: 'agent', origin: 'user' }, { ...always }])
    const shown = page.getByRole('region', { name: 'Change 4 files?' })
    await shown.getByText('"Always" allows the agent in this workspace what these 2 rules say:').waitFor()
    await shown.getByText("edit 'a b.ts'", { exact: true }).waitFor()
    await shown.getByText('This happens only if you allow it.').waitFor()
    await shown.getByRole('button', { name: 'Always' }).click()
    await shown.getByText('Allowed always').waitFor()
    expect(daemon.seen.find(({ url }) => url === '/approvals/f1')?.body).toEqual({ decision: 'always' })
  })

  test('offers "Always" to no key', async () => {
    const daemon = await startDaemon({ caller: { key: 'laptop', owner: false } })
    const { page } = await openSession(daemon)
    daemon.emitAll([{ ...run, type: 'inbound', text: 'Do it', mode: 'agent', origin: 'user' }, { ...always }])
    const shown = page.getByRole('region', { name: 'Change 4 files?' })
    await shown.waitFor()
    expect(await shown.getByRole('button', { name: 'Always' }).count()).toBe(0)
    await shown.focus()
    await page.keyboard.press('a')
    await page.keyboard.press('n')
    await shown.getByText('Refused').waitFor()
    expect(daemon.seen.filter(({ url }) => url === '/approvals/f1').map(({ body }) => body)).toEqual([
      { decision: 'refuse' },
    ])
  })

  test('of a secret is a sentence with its path', async () => {
    const daemon = await startDaemon()
    const { page } = await openSession(daemon)
    daemon.emitAll([
      { ...run, type: 'inbound', text: 'Do it', mode: 'agent', origin: 'user' },
      {
        ...run,
        type: 'approval',
        approvalId: 's',
        callId: 'c',
        tool: 'mcp.fs.read',
        state: 'pending',
        reads: ['app/.env'],
      },
    ])
    const shown = page.getByRole('region', { name: 'Let the agent read app/.env?' })
    await shown.getByText(/looks like a secret/).waitFor()
    expect(await shown.getByText('mcp.fs.read').count()).toBe(0)
  })
})

describe('by keyboard alone', () => {
  test('a person reviews and decides an approval', async () => {
    const daemon = await startDaemon()
    const { page } = await openSession(daemon)
    untilApproval(daemon)
    await approval(page).waitFor()
    await tabTo(page, /^Review$/)
    await page.keyboard.press('Enter')
    expect(await approval(page).evaluate((node) => node === document.activeElement)).toBe(true)
    await page.keyboard.press('r')
    await approval(page).getByText('Allowed for this run').waitFor()
    expect(daemon.seen.find(({ url }) => url === '/approvals/a2')?.body).toEqual({ decision: 'run' })
    expect(await approval(page).evaluate((node) => node === document.activeElement)).toBe(true)
  })

  test('letters decide nothing while the focus is elsewhere', async () => {
    const daemon = await startDaemon()
    const { page } = await openSession(daemon)
    untilApproval(daemon)
    await approval(page).waitFor()
    await page.locator('#message-text').focus()
    await page.keyboard.type('yran')
    await page.getByRole('link', { name: 'Requests' }).focus()
    await page.keyboard.type('yran')
    expect(daemon.seen.filter(({ url }) => url.startsWith('/approvals/'))).toEqual([])
  })

  test('the first Tab offers to skip to the content, and every focus is visible', async () => {
    const { page } = await openSession(await startDaemon())
    await page.keyboard.press('Tab')
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('Skip to the content')
    for (let presses = 0; presses < 14; presses += 1) {
      const outline = await page.evaluate(() => {
        const node = document.activeElement
        const next = node?.nextElementSibling
        const widths = [node, next].map((each) =>
          each === null || each === undefined ? '0px' : getComputedStyle(each).outlineStyle,
        )
        return node === document.body || widths.some((style) => style !== 'none' && style !== '0px')
      })
      expect(outline, await page.evaluate(() => document.activeElement?.outerHTML)).toBe(true)
      await page.keyboard.press('Tab')
    }
  })

  test('a request opens above the list, closes with Escape, and the focus returns', async () => {
    const { page } = await open(await startDaemon(), '#/requests')
    const link = page.getByRole('link', { name: '14:03:24' })
    await link.focus()
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Request 6f1c2a9b' }).waitFor()
    await page.keyboard.press('Escape')
    await expect.poll(() => page.url()).toMatch(/#\/requests$/)
    expect(await link.evaluate((node) => node === document.activeElement)).toBe(true)
  })
})

describe('requests', () => {
  test('are filtered by client, model and failure', async () => {
    const { page } = await open(await startDaemon(), '#/requests')
    const rows = page.locator('table.requests tbody tr')
    await expect.poll(() => rows.count()).toBe(4)
    await page.getByLabel('Client').selectOption('opencode')
    await expect.poll(() => rows.count()).toBe(1)
    await page.getByText('1 of 4 requests').waitFor()
    await page.getByLabel('Client').selectOption('')
    await page.getByLabel('Failed only').check()
    await expect.poll(() => rows.allTextContents()).toEqual([expect.stringContaining('gpt-6')])
    await page.getByLabel('Model').selectOption('gpt-5-mini')
    await page.getByText('No request matches the filter.').waitFor()
  })

  test('say on a narrow screen too what was dropped and why, and what they cost', async () => {
    const { page } = await open(await startDaemon(), '#/requests', { width: 360, height: 740 })
    const row = page.getByRole('row').filter({ hasText: 'opencode' })
    await expect
      .poll(() => row.innerText())
      .toMatch(
        /opencode.*gpt-5-mini.*200.*3,204 \/ 96.*0\.02.*dropped temperature \(the model takes its default only\)/s,
      )
    await expect
      .poll(() => page.getByRole('row').filter({ hasText: '404' }).innerText())
      .toContain('No model is called')
  })

  test('appear while the view is open, and keep the focus where it is', async () => {
    const daemon = await startDaemon()
    const { page } = await open(daemon, '#/requests')
    const link = page.getByRole('link', { name: '14:03:24' })
    await link.focus()
    const [first] = requests
    if (first === undefined) throw new Error('no request')
    daemon.state.requests = [{ ...first, id: 'ffffffff-1', client: 'newcomer' }, ...requests]
    await page.getByRole('cell', { name: 'newcomer' }).waitFor()
    expect(
      await page
        .getByRole('link', { name: '14:03:24' })
        .last()
        .evaluate((node) => node === document.activeElement),
    ).toBe(true)
  })

  test('are copied as a curl command', async () => {
    const { page } = await open(await startDaemon(), `#/requests/${detail.id}`)
    await page.getByRole('button', { name: 'Copy the curl command' }).click()
    const copied = await page.evaluate(() => navigator.clipboard.readText())
    expect(copied).toMatch(/^curl 'http:\/\/127\.0\.0\.1:\d+\/v1\/messages' \\\n/)
    expect(copied).toContain(String.raw`"It'\''s <b>me</b>"`)
  })
})

test('a conversation and its files go back to before a message, whose text is in the form again', async () => {
  const files = [{ path: 'src/total.js', change: 'modified' as const }]
  const undo = {
    undoes: ['00000001-a'],
    files,
    diff: '--- a/src/total.js\n+++ b/src/total.js\n@@ -1 +1 @@\n-new\n+old\n',
  }
  const report = {
    sessionId: shop.id,
    conversationId: 'c1',
    messages: ['second', 'third'],
    text: 'Make it green',
    mode: 'agent',
  }
  let hasConflict = false
  const daemon = await startDaemon({
    conversations: { [shop.id]: [{ id: 'c1', title: 'Prices', createdAt: '2026-11-24T09:00:00.000Z', isOwn: true }] },
    act({ body }) {
      const wanted = { files: true, ...(body as object) }
      if (wanted.files && hasConflict)
        return { status: 409, body: { error: { message: 'src/total.js has changed since.', code: 'undo_conflict' } } }
      return { status: 200, body: wanted.files ? { ...report, undo } : report }
    },
  })
  const { page } = await openSession(daemon)
  await page.getByText('Where is the price of an order computed?').waitFor()
  const usage = { inputTokens: 1, outputTokens: 1, cachedInputTokens: 0 }
  const end = {
    outcome: 'completed',
    reason: '',
    summary: '',
    answer: 'Done.',
    steps: 1,
    requests: 1,
    files: [],
    usage,
  } as const
  for (const [id, text] of [
    ['second', 'Make it green'],
    ['third', 'And tidy'],
  ] as const) {
    const run = { id, sessionId: shop.id, conversationId: 'c1' }
    daemon.emitAll([
      { ...run, type: 'inbound', text, mode: 'agent', origin: 'user' },
      { ...run, type: 'done', ...end },
    ])
  }
  const run = page.locator('.run').filter({ hasText: 'Make it green' })
  const asked = () =>
    daemon.seen.filter(({ url }) => url === `/sessions/${shop.id}/conversations/c1/rewind`).map(({ body }) => body)
  hasConflict = true
  await run.getByRole('button', { name: 'Go back to here' }).press('Enter')
  const question = page.getByRole('dialog', { name: 'Go back to before this message?' })
  await question.getByText('src/total.js has changed since.').waitFor()
  expect(await question.getByRole('button', { name: 'Go back' }).isDisabled()).toBe(true)
  await question.getByLabel('Restore the files too').uncheck()
  await question.getByText('2 messages will be deleted, with the answers. No file changes.').waitFor()
  await expectAccessible(page)
  hasConflict = false
  await question.getByLabel('Restore the files too').check()
  await question.getByText('This restores 1 file:').waitFor()
  await question.getByText('old', { exact: true }).waitFor()
  await expectAccessible(page)
  await question.getByRole('button', { name: 'Go back' }).click()
  await expect.poll(() => page.locator('#message-text').inputValue()).toBe('Make it green')
  expect(await page.getByText('And tidy').count()).toBe(0)
  await page.getByText('Where is the price of an order computed?').waitFor()
  expect(asked().at(-1)).toEqual({ messageId: 'second', files: true, dryRun: false })
  expect(
    asked()
      .slice(0, -1)
      .every((body) => JSON.stringify(body).includes('"dryRun":true')),
  ).toBe(true)
})

test('a page that may not decide sees what comes back, and the command that opens it so', async () => {
  const files = [{ path: 'src/total.js', change: 'modified' as const }]
  const change = { id: '00000001-a', time: '2026-11-24T14:03:00.000Z', runId: 'run-fix', files }
  const daemon = await startDaemon({
    caller: { key: null, owner: false },
    changes: { changes: [change] },
    act: ({ body }) =>
      JSON.stringify(body) === '{"dryRun":true}'
        ? { status: 409, body: { error: { message: 'src/total.js has changed.', code: 'undo_conflict' } } }
        : { status: 500, body: {} },
  })
  const { page, complaints } = await openSession(daemon)
  untilApproval(daemon)
  untilDone(daemon)
  await page.getByRole('button', { name: 'Undo run' }).click()
  const question = page.getByRole('dialog', { name: 'Undo all changes of this run?' })
  await question.getByText('src/total.js has changed.').waitFor()
  await question.getByText('To undo it, open this page with:').waitFor()
  expect(await question.getByRole('button', { name: 'Undo', exact: true }).count()).toBe(0)
  await expectAccessible(page)
  await question.getByRole('button', { name: 'Keep' }).click()
  expect(complaints.filter((each) => !each.includes('409'))).toEqual([])
})

test('a page that may not decide shows the command that opens it so, and its letters do nothing', async () => {
  const daemon = await startDaemon({ caller: { key: null, owner: false } })
  const { page, complaints } = await openSession(daemon)
  untilApproval(daemon)
  await approval(page).getByText('To decide, open this page with:').waitFor()
  expect(await approval(page).getByRole('button').allTextContents()).toEqual(['Copy'])
  await approval(page).focus()
  await page.keyboard.type('yan')
  expect(daemon.seen.filter(({ url }) => url.startsWith('/approvals/'))).toEqual([])
  await expectAccessible(page)
  await page.getByRole('button', { name: 'Clear history' }).click()
  const question = page.getByRole('dialog')
  await question.getByRole('button', { name: 'Copy: copilot-proxy page' }).waitFor()
  expect(await question.getByRole('button', { name: 'Delete' }).count()).toBe(0)
  await expectAccessible(page)
  await question.getByRole('button', { name: 'Keep' }).click()
  // A daemon that knows the page again lets it decide.
  daemon.state.caller = { key: 'laptop', owner: false }
  daemon.dropStreams()
  await approval(page).getByRole('button', { name: 'Allow once' }).click()
  await approval(page).getByText('Allowed once').waitFor()
  expect(complaints).toEqual([])
})

test('a code of the address is sent once and appears nowhere else', async () => {
  const code = 'c'.repeat(43)
  const daemon = await startDaemon({ act: () => ({ status: 200, body: {} }) })
  const { page } = await open(daemon, `#code=${code}`)
  await page.getByText('Live', { exact: true }).waitFor()
  expect(page.url()).not.toContain(code)
  const [sent, ...more] = daemon.seen.filter(({ url }) => url === '/page/tokens')
  expect([sent?.body, more]).toEqual([{ code, token: expect.stringMatching(/^[\w-]{43}$/) }, []])
  const { token } = Object(sent?.body)
  expect(daemon.seen.findLast(({ url }) => url === '/events')?.headers['authorization']).toBe(`Bearer ${token}`)
  expect(daemon.seen.filter(({ url, headers }) => `${url} ${String(headers['referer'])}`.includes(code))).toEqual([])
  await page.goBack().catch(() => null)
  expect(page.url()).not.toContain(code)
})

test('A13 the key is asked for, kept in the tab, sent in a header only, and forgotten on request', async () => {
  const daemon = await startDaemon({ key: 'right-key-0123456789' })
  const { page, complaints } = await open(daemon)
  await page.getByLabel('Key', { exact: true }).fill('wrong')
  const asked = () => daemon.seen.length
  const before = asked()
  const browserKeys = await page.context().newCDPSession(page)
  // The Enter of an input method sends nothing.
  const accept = { key: 'Enter', code: 'Enter', windowsVirtualKeyCode: 229, text: '\r' }
  for (const type of ['keyDown', 'keyUp'] as const)
    await browserKeys.send('Input.dispatchKeyEvent', { type, ...accept })
  expect(await page.getByRole('alert').getByText('A key is required.').isVisible()).toBe(false)
  expect(asked()).toBe(before)
  await page.keyboard.press('Enter')
  await page.getByText('A key is required.').waitFor()
  await page.getByLabel('Key', { exact: true }).fill('right-key-0123456789')
  await page.keyboard.press('Enter')
  await page.getByText('Live', { exact: true }).waitFor()
  await page.reload()
  await page.getByText('Live', { exact: true }).waitFor()
  expect(daemon.seen.filter(({ url }) => url.includes('right-key'))).toEqual([])
  expect([await page.evaluate(() => document.cookie), await page.evaluate(() => localStorage.length)]).toEqual(['', 0])
  expect(page.url()).not.toContain('right-key')
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.getByLabel('Key', { exact: true }).waitFor()
  expect(complaints).toEqual([])
})
