import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { schemas } from '../../src/api/routes.ts'
import { openConsents } from '../../src/workspace/policy/consents.ts'
import { connect } from '../rpc/support.ts'
import { makeFolder } from '../tools/session.ts'
import { openProxy } from './harness.ts'
import { eventsUntil, listen, postMessage } from './session-client.ts'

const key = 'example-key-0123456789'
const ofKey = { authorization: `Bearer ${key}` }

const unifiedDiff = (from: string, to: string, path = 'notes.txt') =>
  `--- a/${path}\n+++ b/${path}\n@@ -1 +1 @@\n-${from}\n+${to}\n`

const patch = (from: string, to: string, path?: string) => ({
  tool: 'edit_applyPatch',
  args: { unifiedDiff: unifiedDiff(from, to, path) },
})

/** A daemon with a read-only workspace without a policy, and a key besides the owner's token. */
async function openNotes(settings = '', files: Readonly<Record<string, string>> = {}) {
  const root = await makeFolder({ 'notes.txt': 'one\n', 'other.txt': 'one\n', ...files })
  const workspacesDir = join(await makeFolder(), 'workspaces')
  const file = (more: string) => `workspaces: [{ path: ${root}, name: app }]\nserver: { api-keys: [${key}] }\n${more}`
  const proxy = await openProxy({ file: file(settings), workspacesDir, confirmed: false })
  const headers = { authorization: `Bearer ${proxy.daemon.ownerToken}` }
  const listener = await listen(proxy, '/events', headers)

  /** Starts a run with these calls. Resolves with its first question, or at its end. */
  async function work(call: object, by = headers, ...more: readonly object[]) {
    const steps = [call, ...more].map((each) => ({ calls: [each] }))
    const text = `Work. [demo:script ${JSON.stringify([...steps, { text: 'Done' }])}]`
    const reply = await postMessage(proxy, { text, mode: 'agent', model: 'gpt-5-mini' }, by)
    const { id } = schemas.AcceptedMessage.parse(reply.json())
    return { id, question: await next(id) }
  }

  /** Resolves with the next question of a run, or at its end. */
  async function next(id: string) {
    for (;;) {
      const event = await listener.nextEvent()
      if (event?.event === 'done' && event.data['id'] === id) return undefined
      if (event?.event !== 'approval' || event.data['id'] !== id) continue
      const question = schemas.Event.parse({ type: 'approval', ...event.data })
      if (question.type === 'approval' && question.state === 'pending') return question
    }
  }

  return {
    ...proxy,
    root,
    headers,
    consents: openConsents(workspacesDir, root),
    work,
    next,
    notes: () => readFile(join(root, 'notes.txt'), 'utf8'),
    configureTo: (more: string) => proxy.daemon.reconfigure(proxy.configure(file(more))),
    async decide(approvalId: string | undefined, decision: string, by = headers) {
      const reply = await proxy.send(`/approvals/${approvalId}`, { headers: by, body: JSON.stringify({ decision }) })
      return { status: reply.status, body: reply.json() }
    },
    done: (id: string) => eventsUntil(listener, 'done', (event) => event.data['id'] === id),
    policy: async () => (await proxy.send('/sessions/app/policy', { headers })).json(),
  }
}

describe('the decision "always"', () => {
  test('stores the rule that the question shows, and is not asked again, until a person takes it back', async () => {
    const app = await openNotes()
    const first = await app.work(patch('one', 'two'))
    expect(first.question).toMatchObject({
      always: ['edit notes.txt'],
      decisions: ['once', 'run', 'always', 'refuse'],
      closed: [expect.stringContaining('read-only'), expect.stringContaining('There is no .agent-policy.yaml')],
    })
    const decided = await app.decide(first.question?.approvalId, 'always')
    expect(decided).toMatchObject({ status: 200, body: { state: 'always' } })
    await app.done(first.id)
    expect(await app.policy()).toMatchObject({ always: ['edit notes.txt'] })

    expect((await app.work(patch('two', 'three'))).question).toBeUndefined()
    expect(await app.notes()).toBe('three\n')
    const other = await app.work(patch('one', 'two', 'other.txt'))
    expect(other.question).toMatchObject({ paths: ['other.txt'] })
    await app.decide(other.question?.approvalId, 'refuse')
    await app.done(other.id)

    await app.consents.forget()
    expect((await app.work(patch('three', 'four'))).question).toMatchObject({ paths: ['notes.txt'] })
  })

  test('is the owner’s alone: a key is refused with a sentence, and may still allow the call of its own run', async () => {
    const app = await openNotes()
    const { id, question } = await app.work(patch('one', 'two'), ofKey)
    expect(await app.decide(question?.approvalId, 'always', ofKey)).toMatchObject({
      status: 403,
      body: { error: { code: 'owner_required', message: expect.stringContaining('copilot-proxy page') } },
    })
    expect(await app.consents.read()).toEqual({ rules: [] })
    expect(await app.decide(question?.approvalId, 'once', ofKey)).toMatchObject({ status: 200 })
    await app.done(id)
    expect(await app.notes()).toBe('two\n')
  })

  test('is refused where it is not offered, and the question stays', async () => {
    const app = await openNotes()
    const { question } = await app.work({
      tool: 'edit_applyPatch',
      args: { unifiedDiff: '--- a/notes.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-one\n' },
    })
    expect(question).not.toHaveProperty('always')
    expect(await app.decide(question?.approvalId, 'always')).toMatchObject({
      status: 400,
      body: { error: { param: 'decision' } },
    })
    expect(await app.decide(question?.approvalId, 'refuse')).toMatchObject({ status: 200 })
  })

  test('opens nothing where no person is asked', async () => {
    const app = await openNotes()
    await app.consents.add([{ edit: 'notes.txt' }])
    const args = { unifiedDiff: unifiedDiff('one', 'two') }
    const rpc = await connect(`${app.daemon.url.replace('http:', 'ws:')}/rpc`, { headers: ofKey })
    expect(await rpc.ask('mcp.edit.applyPatch', args)).toMatchObject({
      error: { message: expect.stringContaining('only a person can allow it') },
    })
    app.configureTo('agent: { require-approval: false }')
    const { id, question } = await app.work(patch('one', 'two'))
    expect(question).toBeUndefined()
    const run = schemas.RunReport.parse((await app.send(`/runs/${id}`, { headers: app.headers })).json())
    expect(run.steps[0]?.calls[0]).toMatchObject({ outcome: 'denied' })
    expect(await app.notes()).toBe('one\n')
  })

  test.each([
    ['a denial of the policy', '', 'writes: { deny: [notes.txt] }\n'],
    ['a locked workspace', 'workspace: { read-only: locked }', undefined],
  ])('%s still wins', async (_, settings, policy) => {
    const app = await openNotes(settings)
    await app.consents.add([{ edit: 'notes.txt' }])
    if (policy !== undefined) await writeFile(join(app.root, '.agent-policy.yaml'), policy)
    const { question } = await app.work(patch('one', 'two'))
    expect([question, await app.notes()]).toEqual([undefined, 'one\n'])
  })

  test('a file of rules that is invalid grants nothing, and nothing more is stored in it', async () => {
    const app = await openNotes()
    await app.consents.add([{ edit: 'notes.txt' }])
    await writeFile(app.consents.path, '{')
    const { problem } = await app.consents.read()
    const { id, question } = await app.work(patch('one', 'two'))
    expect(question).toMatchObject({ decisions: ['once', 'run', 'refuse'] })
    await app.decide(question?.approvalId, 'refuse')
    await app.done(id)
    expect(await app.policy()).toMatchObject({ always: [], problem })
  })
})

describe('a policy that came with the folder', () => {
  const text = 'writes: { allow: ["*.txt"], deny: [other.txt] }\n'
  const openClone = (settings = 'workspace: { read-only: false }') =>
    openNotes(settings, { '.agent-policy.yaml': text })

  test('is shown by the agent at its first need, and counts for all callers once the owner confirms it', async () => {
    const app = await openClone()
    const rpc = await connect(`${app.daemon.url.replace('http:', 'ws:')}/rpc`, { headers: ofKey })
    const args = { unifiedDiff: unifiedDiff('one', 'two') }
    expect(await rpc.ask('mcp.edit.applyPatch', args)).toMatchObject({
      error: {
        message: expect.stringMatching(/only a person can allow it.*has changed.*run: copilot-proxy policy trust/),
      },
    })
    const { id, question } = await app.work(patch('one', 'two'))
    expect(question).toMatchObject({
      policy: { path: '.agent-policy.yaml', text },
      always: ['trust .agent-policy.yaml'],
      decisions: ['always', 'refuse'],
    })
    expect(await app.decide(question?.approvalId, 'once')).toMatchObject({ status: 400 })
    expect(await app.decide(question?.approvalId, 'always')).toMatchObject({ status: 200 })
    const next = await app.next(id)
    // The policy allows it now, and the agent asks as before for what a policy allows.
    expect(next).toMatchObject({ paths: ['notes.txt'] })
    expect(next).not.toHaveProperty('closed')
    await app.decide(next?.approvalId, 'refuse')
    await app.done(id)
    expect(await rpc.ask('mcp.edit.applyPatch', args)).toMatchObject({ result: { ok: true } })
    expect(await app.policy()).toMatchObject({ unconfirmed: [], always: [] })
  })

  test('is asked about once in a run; who refuses may still allow the call itself', async () => {
    const app = await openClone()
    const { id, question } = await app.work(patch('one', 'two'), app.headers, patch('two', 'three'))
    await app.decide(question?.approvalId, 'refuse')
    for (const _ of [1, 2]) {
      const next = await app.next(id)
      expect(next).toMatchObject({ paths: ['notes.txt'], closed: [expect.stringContaining('policy trust')] })
      await app.decide(next?.approvalId, 'once')
    }
    await app.done(id)
    expect(await app.notes()).toBe('three\n')
    expect(await app.policy()).toMatchObject({ unconfirmed: ['.agent-policy.yaml'] })
  })

  test('is confirmed by nobody but the owner, and not where nobody is asked', async () => {
    const app = await openClone()
    const { id, question } = await app.work(patch('one', 'two'), ofKey)
    expect(await app.decide(question?.approvalId, 'always', ofKey)).toMatchObject({ status: 403 })
    expect(await app.decide(question?.approvalId, 'refuse', ofKey)).toMatchObject({ status: 200 })
    const next = await app.next(id)
    await app.decide(next?.approvalId, 'refuse', ofKey)
    await app.done(id)
    app.configureTo('workspace: { read-only: false }\nagent: { require-approval: false }')
    expect((await app.work(patch('one', 'two'))).question).toBeUndefined()
    expect(await app.notes()).toBe('one\n')
  })

  test('denies without a question what it denies', async () => {
    const app = await openClone()
    expect((await app.work(patch('one', 'two', 'other.txt'))).question).toBeUndefined()
  })
})
