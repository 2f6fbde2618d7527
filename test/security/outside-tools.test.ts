import { execPath } from 'node:process'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { call, openAgentDaemon } from './agent-daemon.ts'

// Tools of other programs. A model that a text has misled must not send out what it has read.

const script = fileURLToPath(new URL('../mcp/servers/server.mjs', import.meta.url))
const serverOf = (more: object = {}) => ({ command: [execPath, script, 'world'], ...more })

const secret = 'canary_of_the_secret_7Qx2'
const files = {
  '.agent-policy.yaml': "reads: { allow: [.env] }\nwrites: { allow: ['**'] }\n",
  '.env': `KEY=${secret}\n`,
  'a.txt': 'one\n',
}

const readSecret = call('fs_read', { path: '.env' })
const done = { text: 'Done' }

async function openWorld(trust: object = {}, more: object = {}) {
  const daemon = await openAgentDaemon(files, { 'mcp-servers': { it: serverOf(trust) }, ...more })
  return daemon
}

describe('the agent asks', () => {
  test.each([
    ['that only reads, and reaches the outside', 'it_fetch'],
    ['that only reads, and does not say what it reaches', 'it_ask'],
    ['that only reads, and destroys', 'it_shred'],
    ['whose hint is no boolean', 'it_maybe'],
    ['without hints', 'it_act'],
  ])('before a tool %s', async (_kind, tool) => {
    const { start } = await openWorld()
    const run = await start([call(tool, { url: 'http://127.0.0.1:9/' }), done])
    const approval = await run.approval()
    expect(approval).toMatchObject({ tool, args: { url: 'http://127.0.0.1:9/' } })
    await run.decide(approval, 'refuse')
    expect(await run.outcomes()).toEqual(['approval_refused'])
  })

  test('nobody before a tool that only reads inside its own world, and before tools of a trusted server', async () => {
    const own = await openWorld()
    expect(await (await own.start([call('it_look', {}), done])).outcomes()).toEqual(['ok'])
    const trusted = await openWorld({ trust: true })
    const run = await trusted.start([call('it_fetch', {}), call('it_act', {}), done])
    expect(await run.outcomes()).toEqual(['ok', 'ok'])
  })

  test('before a trusted tool that reaches the outside, after a secret was read in this run', async () => {
    const { start } = await openWorld({ trust: true })
    const run = await start([
      call('it_fetch', {}),
      readSecret,
      call('it_look', {}),
      call('it_fetch', { url: secret }),
      done,
    ])
    const approval = await run.approval()
    expect(approval).toMatchObject({ tool: 'it_fetch', args: { url: secret } })
    await run.decide(approval, 'refuse')
    expect(await run.outcomes()).toEqual(['ok', 'ok', 'ok', 'approval_refused'])
  })

  test('again for a tool that was allowed for the run, after a secret was read', async () => {
    const { start } = await openWorld()
    const run = await start([
      call('it_fetch', { url: 'a' }),
      call('it_fetch', { url: 'b' }),
      readSecret,
      call('it_fetch', { url: secret }),
      done,
    ])
    await run.decide(await run.approval(), 'run')
    const approval = await run.approval()
    expect(approval).toMatchObject({ args: { url: secret } })
    await run.decide(approval, 'refuse')
    expect(await run.outcomes()).toEqual(['ok', 'ok', 'ok', 'approval_refused'])
  })

  test('after a secret was read in an earlier run of the conversation', async () => {
    const { start } = await openWorld({ trust: true })
    expect(await (await start([readSecret, done])).outcomes()).toEqual(['ok'])
    const run = await start([call('it_fetch', { url: secret }), done])
    await run.decide(await run.approval(), 'refuse')
    expect(await run.outcomes()).toEqual(['approval_refused'])
  })

  test('after a search in a secret', async () => {
    const { start } = await openWorld({ trust: true })
    const search = call('search_code', { query: 'KEY', glob: '.env' })
    const run = await start([search, call('it_fetch', { url: secret }), done])
    await run.decide(await run.approval(), 'refuse')
    expect(await run.outcomes()).toEqual(['ok', 'approval_refused'])
  })

  test('nobody if approvals are switched off, and then sends nothing after a secret', async () => {
    const { start } = await openWorld({ trust: true }, { agent: { 'require-approval': false } })
    const run = await start([call('it_fetch', {}), readSecret, call('it_fetch', { url: secret }), done])
    expect(await run.outcomes()).toEqual(['ok', 'ok', 'denied'])
  })
})

describe('a chat', () => {
  const tools = ['it_fetch', 'it_ask', 'it_shred', 'it_maybe', 'it_act', 'it_look']

  test('has no tool that would need a question', async () => {
    const { start } = await openWorld()
    const run = await start([...tools.map((tool) => call(tool, {})), done], 'chat')
    expect(await run.outcomes()).toEqual([...Array.from({ length: 5 }, () => 'failed'), 'ok'])
  })

  test('calls reading tools of a trusted server, but none that reaches the outside after a secret', async () => {
    const { start } = await openWorld({ trust: true })
    const run = await start(
      [
        call('it_act', {}),
        call('it_fetch', {}),
        readSecret,
        call('it_look', {}),
        call('it_fetch', { url: secret }),
        done,
      ],
      'chat',
    )
    expect(await run.outcomes()).toEqual(['failed', 'ok', 'ok', 'ok', 'denied'])
  })
})

describe('an allowed name', () => {
  test('for the run ends when the server changes the tool', async () => {
    const { start, listed } = await openWorld()
    const run = await start([
      call('it_act', { a: 1 }),
      call('it_act', { a: 2 }),
      call('it_change', {}),
      call('it_fetch', {}),
      call('it_act', { a: 3 }),
      done,
    ])
    await run.decide(await run.approval(), 'run')
    const pause = await run.approval()
    expect(pause).toMatchObject({ tool: 'it_fetch' })
    await listed('it_added')
    await run.decide(pause, 'refuse')
    const approval = await run.approval()
    expect(approval).toMatchObject({ args: { a: 3 } })
    await run.decide(approval, 'refuse')
    expect(await run.outcomes()).toEqual(['ok', 'ok', 'ok', 'approval_refused', 'approval_refused'])
  })

  test('runs nothing if the server changes the tool while the question waits', async () => {
    const { start, listed } = await openWorld()
    const run = await start([call('it_act', {}), done])
    const approval = await run.approval()
    expect(await (await start([call('it_change', {}), done], 'chat')).outcomes()).toEqual(['ok'])
    await listed('it_added')
    await run.decide(approval, 'once')
    expect(await run.outcomes()).toEqual(['failed'])
  })

  test('does not move to a server that takes the prefix of another one', async () => {
    const { start, configure } = await openWorld({ prefix: 'p' })
    const first = await start([call('p_look', {}), done])
    expect(await first.outcomes()).toEqual(['ok'])
    configure({ 'mcp-servers': { other: serverOf({ prefix: 'p' }) } })
    const second = await start([call('p_look', {}), done])
    expect(await second.outcomes()).toEqual(['failed'])
  })
})

test('tools with long names are all offered, under different names that stay', async () => {
  const { start, demo } = await openWorld()
  const offered = async (): Promise<readonly string[]> => {
    const before = demo.log.length
    await (await start([done])).outcomes()
    return [...new Set(JSON.stringify(demo.log.slice(before)).match(/it_(?:long_)+[a-z0-9_]*/g))]
  }
  const names = await offered()
  expect(names).toHaveLength(3)
  for (const name of names) expect(name.length).toBeLessThanOrEqual(64)
  expect(await offered()).toEqual(names)
})
