import { describe, expect, test } from 'vitest'
import { openProxy } from '../http/harness.ts'
import type { Proxy } from '../http/harness.ts'
import { askClient } from './client.ts'
import type { Ask } from './client.ts'
import { codex } from './codex.ts'
import { openPlace } from './place.ts'
import { generationsOf } from './upstream-view.ts'

// Agents of Codex CLI that give each other tasks (multi-agent v2), on models of each maker.

/** As `--enable multi_agent_v2`. */
const more = '\n[features]\nmulti_agent_v2 = true\n'

const wait = { calls: [{ tool: 'collaboration__wait_agent', args: { timeout_ms: 30_000 } }] }

function script(...steps: readonly unknown[]): string {
  return `[demo:script ${JSON.stringify(steps)}]`
}

function step(tool: string, args: object) {
  return { calls: [{ tool: `collaboration__${tool}`, args }] }
}

/** The parent gives its child a task, waits, gives it another one and ends. */
const prompt = script(
  step('spawn_agent', { task_name: 'zoo', message: 'Task ZEBRA-42: reply with done', fork_turns: 'none' }),
  wait,
  step('followup_task', { target: '/root/zoo', message: 'Task OTTER-7: reply with done' }),
  wait,
  { text: 'All agents have answered.' },
)

async function openUser(model: string, codexLogin?: 'stored') {
  const place = await openPlace()
  const ask = (proxy: Proxy, asked: Ask) =>
    askClient(codex, place, { url: proxy.url, model, isThinking: false, key: 'not-a-key', more }, asked)
  const open = () => openProxy({ ...(codexLogin !== undefined && { codexLogin }) })
  return { open, ask }
}

/** Requests of the child, and of its parent. */
function requestsIn(proxy: Proxy) {
  const all = generationsOf(proxy)
  const { child = [], parent = [] } = Object.groupBy(all, ({ text }) =>
    text.includes('[demo:script') ? 'parent' : 'child',
  )
  return { child, parent }
}

describe.each(['claude-sonnet-4.5', 'gemini-3-pro-preview', 'gpt-5.3-codex', 'gpt-4.1'])('agents on %s', (model) => {
  test('get their tasks, and their answers reach the agent that asked', async () => {
    const { open, ask } = await openUser(model)
    const proxy = await open()
    const { text, exitCode, failure } = await ask(proxy, { prompt })
    expect([failure, text, exitCode]).toEqual(['', 'All agents have answered.', 0])
    const { child, parent } = requestsIn(proxy)
    expect(child[0]?.text).toContain('Task ZEBRA-42: reply with done')
    expect(child.at(-1)?.text).toMatch(/ZEBRA-42.*Task OTTER-7: reply with done/)
    // The simulated model repeats what it was told.
    expect(parent.at(-1)?.text).toMatch(/FINAL_ANSWER.*You said: .*ZEBRA-42.*FINAL_ANSWER.*You said: .*OTTER-7/)
    for (const each of [...child, ...parent]) {
      expect(each.model).toBe(model)
      expect(each.text).not.toMatch(/"encrypted":|"type":"encrypted_content"/)
    }
  })

  test('are remembered by the session, not by the daemon', async () => {
    const { open, ask } = await openUser(model)
    await ask(await open(), { prompt })
    const proxy = await open()
    const { text, exitCode } = await ask(proxy, { prompt: 'And the second', isResumed: true })
    expect([text, exitCode]).toEqual([expect.stringContaining('And the second'), 0])
    expect(generationsOf(proxy).at(-1)?.text).toMatch(/FINAL_ANSWER.*ZEBRA-42.*FINAL_ANSWER.*OTTER-7/)
  })
})

test('Codex gets its own encrypted tasks unchanged', async () => {
  const { open, ask } = await openUser('codex/gpt-5.3-codex', 'stored')
  const proxy = await open()
  // The simulated model writes no ciphertext, which makes no difference to what is passed on.
  const { exitCode } = await ask(proxy, { prompt })
  expect(exitCode).toBe(0)
  const { child, parent } = requestsIn(proxy)
  expect(parent[0]?.text).toContain('"encrypted":true')
  expect(child[0]?.text).toContain('"encrypted_content":"Task ZEBRA-42: reply with done"')
})
