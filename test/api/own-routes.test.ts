import { on, once } from 'node:events'
import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { describe, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { z } from 'zod'
import { describeRoutes } from '../../src/api/openapi.ts'
import { ownRoutes, schemas } from '../../src/api/routes.ts'
import { pageSources } from '../../src/page/page-sources.ts'
import { openInMemory } from '../http/in-memory.ts'
import type { InMemory } from '../http/in-memory.ts'
import { openProxy } from '../http/harness.ts'
import type { Proxy } from '../http/harness.ts'
import { eventsUntil, listen } from '../http/session-client.ts'
import { makeFolder } from '../tools/session.ts'

type SchemaName = keyof typeof schemas

const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true })
const compiled = new Map<SchemaName, ReturnType<typeof ajv.compile>>()

/** The problems of a body. In the form `output`, every field that a schema does not name is one. */
function problemsOf(name: SchemaName, body: unknown): readonly unknown[] {
  const validate = compiled.get(name) ?? ajv.compile(z.toJSONSchema(schemas[name], { io: 'output' }))
  compiled.set(name, validate)
  return validate(body) === true
    ? []
    : (validate.errors ?? []).map((error) => [error.instancePath, error.message, error.params])
}

const document = describeRoutes('1.2.3')

describe('the description', () => {
  test('is an OpenAPI document', () => {
    const file = new URL('../fixtures/openapi/schema-3.1.json', import.meta.url)
    // Ajv takes the root for the schema that the dynamic anchor names. The schemas themselves are the next test's.
    const text = readFileSync(file, 'utf8').replaceAll('"$dynamicRef": "#meta"', '"$ref": "#/$defs/schema"')
    const validate = ajv.compile(JSON.parse(text))
    validate(document)
    expect(validate.errors).toBeNull()
    // A document that is none fails, so the schema is in force.
    expect(validate({ ...document, paths: { usage: {} } })).toBe(false)
  })

  test('has schemas of JSON Schema, and names each schema that it refers to', () => {
    const text = JSON.stringify(document)
    const described = z.object({ components: z.object({ schemas: z.record(z.string(), z.unknown()) }) }).parse(document)
    const names = Object.keys(described.components.schemas)
    for (const [, name] of text.matchAll(/"#\/components\/schemas\/(\w+)"/g)) expect(names).toContain(name)
    for (const schema of Object.values(described.components.schemas)) {
      expect(ajv.validateSchema(z.record(z.string(), z.unknown()).parse(schema))).toBe(true)
    }
    for (const name of names) expect(text).toContain(`"#/components/schemas/${name}"`)
  })

  test('has every route of the daemon itself, and no other', async () => {
    const foreign =
      /^(?:\/v1)?\/(?:chat|completions|responses|messages|embeddings|images)|^\/(?:rpc|mcp)|^\/models(?:\/some-id)?$/
    const registered = (await openInMemory().routes()).map(({ method, path }) => `${method} ${path}`)
    const known = ownRoutes.map(
      ({ method, path }) => `${method.toUpperCase()} ${path.replaceAll(/\{\w+\}/g, 'some-id')}`,
    )
    expect(known.filter((route) => !registered.includes(route))).toEqual([])
    expect(registered.filter((route) => !foreign.test(route.split(' ')[1] ?? '') && !known.includes(route))).toEqual([])
  })

  test('is served behind the key, and says which version answers', async () => {
    const proxy = await openProxy({ file: 'server: { api-keys: [key-of-this-test] }' })
    expect((await proxy.send('/openapi.json')).status).toBe(401)
    const reply = await proxy.send('/openapi.json', { headers: { authorization: 'Bearer key-of-this-test' } })
    expect(reply.json()).toEqual(describeRoutes('0.0.0-test'))
  })
})

/** What a run does: it reads a file, and changes it once a person allows it. */
const steps = [
  { text: 'I read it.', calls: [{ tool: 'fs_read', args: { path: 'notes.txt' } }] },
  {
    calls: [
      {
        tool: 'edit_applyPatch',
        args: { unifiedDiff: '--- a/notes.txt\n+++ b/notes.txt\n@@ -1 +1 @@\n-one\n+two\n' },
      },
    ],
  },
  { text: 'Done' },
]

/** A daemon with a workspace, budgets and both logins. */
async function openAll(): Promise<Proxy> {
  const root = await makeFolder()
  await writeFile(join(root, 'notes.txt'), 'one\n')
  await writeFile(join(root, '.agent-policy.yaml'), 'writes: { allow: [notes.txt] }\n')
  const file = [
    `workspaces: [{ path: ${root}, name: app }]`,
    'workspace: { read-only: false }',
    'log: { bodies: true, cache-diagnostics: true }',
    'usage: { credits-per-day: 100, credits-per-month: 1000 }',
    'models: { aliases: { best: [gpt-5-mini, gpt-4.1] } }',
    `mcp-servers: { broken: { command: [${process.execPath}, --no-such-option] } }`,
  ]
  return await openProxy({ file: file.join('\n'), codexLogin: 'stored' })
}

describe('every answer', () => {
  const asked = new Set<string>()

  async function ask(proxy: Proxy | InMemory, route: string, path: string, body?: object): Promise<unknown> {
    const [method = '', pattern = ''] = route.split(' ')
    const found = ownRoutes.find((each) => each.method === method && each.path === pattern)
    if (found === undefined) throw new Error(`${route} is not in the table`)
    asked.add(route)
    const reply = await proxy.send(path, {
      method: method.toUpperCase(),
      headers: 'daemon' in proxy ? { authorization: `Bearer ${proxy.daemon.ownerToken}` } : {},
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    expect([route, reply.status, reply.status === (found.status ?? 200) ? '' : reply.text]).toEqual([
      route,
      found.status ?? 200,
      '',
    ])
    if (found.type !== undefined || found.answer === undefined) return reply.text
    const answer: unknown = reply.json()
    expect([route, problemsOf(found.answer, answer)]).toEqual([route, []])
    return answer
  }

  test('about the daemon, its models and its use has the fields of its schema and no other', async () => {
    const proxy = await openAll()
    await ask(proxy, 'get /', '/')
    await proxy.chat({ model: 'claude-sonnet-4.5', seed: 1, n: 1 })
    await proxy.chat({ model: 'codex/gpt-5.5' })
    await proxy.chat({ model: 'no-such-model' })
    for (const path of [
      '/api/hello',
      '/healthz',
      '/readyz',
      '/openapi.json',
      '/metrics',
      '/usage',
      '/cache',
      '/self-check',
      '/caller',
      '/keys',
      '/logins',
      '/status',
      '/accounts',
      '/policies',
    ]) {
      await ask(proxy, `get ${path}`, path)
    }
    await ask(proxy, 'get /usage', '/usage?account=false')
    await ask(proxy, 'post /usage/allow', '/usage/allow')
    await ask(proxy, 'post /models/refresh', '/models/refresh')
    await ask(proxy, 'post /policies', '/policies', { model: 'claude-opus-4.5' })
    await ask(proxy, 'post /logins/{provider}', '/logins/copilot')
    await ask(proxy, 'post /logins/{provider}/cancel', '/logins/copilot/cancel')
    await ask(proxy, 'get /v1/models', '/v1/models?include=disabled')
    for (const name of ['gpt-5-mini', 'best', 'codex/gpt-5.5'])
      await ask(proxy, 'get /v1/models/{id}', `/v1/models/${name}`)
    const { requests } = schemas.RequestList.parse(await ask(proxy, 'get /requests', '/requests?limit=10'))
    expect(requests.length).toBeGreaterThan(2)
    for (const { id } of requests) await ask(proxy, 'get /requests/{id}', `/requests/${id}`)
    const [code, token] = ['c'.repeat(43), 't'.repeat(43)]
    await ask(proxy, 'post /page/codes', '/page/codes', { code })
    await ask(proxy, 'post /page/tokens', '/page/tokens', { code, token })
    const [name = ''] = pageSources.keys()
    await ask(proxy, 'get /page/{name}', `/page/${name}`)
    await ask(proxy, 'delete /logins/{provider}', '/logins/codex')
  })

  test('about sessions has them too, and so have all events of a run', async () => {
    const proxy = await openAll()
    const headers = { authorization: `Bearer ${proxy.daemon.ownerToken}` }
    const listener = await listen(proxy, '/events', headers)
    const ofApp = '/sessions/{id}/conversations'
    const begun = schemas.Conversation.parse(await ask(proxy, `post ${ofApp}`, '/sessions/app/conversations', {}))
    asked.add('get /events')
    const text = `Look. [demo:script ${JSON.stringify(steps)}]`
    const message = {
      text,
      mode: 'agent',
      model: 'gpt-5-mini',
      editor: 'read',
      attachments: [{ name: 'a', mediaType: 'text/plain', text: 'b' }],
    }
    const started = schemas.AcceptedMessage.parse(await ask(proxy, 'post /message', '/message', message))
    const ofEditor = await eventsUntil(listener, 'editor')
    const { requestId } = ofEditor.at(-1)?.data ?? {}
    await ask(proxy, 'post /runs/{id}/editor', `/runs/${started.id}/editor`, { requestId, ok: false })
    const untilAsked = await eventsUntil(listener, 'approval')
    const approval = schemas.Event.parse({ type: 'approval', ...untilAsked.at(-1)?.data })
    if (approval.type !== 'approval') throw new Error('no approval')
    await ask(proxy, 'get /sessions', '/sessions')
    await ask(proxy, 'get /runs/{id}', `/runs/${started.id}`)
    await ask(proxy, 'post /approvals/{id}', `/approvals/${approval.approvalId}`, { decision: 'once' })
    const events = [...ofEditor, ...untilAsked, ...(await eventsUntil(listener, 'done'))]
    for (const { event, data } of events) expect(problemsOf('Event', { type: event, ...data })).toEqual([])
    expect(new Set(events.map(({ event }) => event))).toEqual(
      new Set(['lifecycle', 'inbound', 'fragment', 'usage', 'tool', 'editor', 'approval', 'diff', 'done']),
    )
    await ask(proxy, 'get /runs/{id}', `/runs/${started.id}`)
    const { changes } = schemas.ChangeList.parse(
      await ask(proxy, 'get /sessions/{id}/changes', '/sessions/app/changes'),
    )
    await ask(proxy, 'post /runs/{id}/undo', `/runs/${started.id}/undo`, { dryRun: true })
    await ask(proxy, 'post /changes/{id}/undo', `/changes/${changes[0]?.id}/undo`)
    await ask(proxy, 'get /sessions/{id}/changes', '/sessions/app/changes')
    await ask(proxy, 'get /sessions/{id}/messages', '/sessions/app/messages')
    await ask(proxy, 'get /sessions/{id}/streams', '/sessions/app/streams')
    await ask(proxy, 'get /sessions/{id}/streams/{name}', '/sessions/app/streams/tool-calls')
    await ask(proxy, 'get /sessions/{id}/policy', '/sessions/app/policy')
    await ask(proxy, 'get /sessions/{id}/files', '/sessions/app/files')
    await ask(proxy, 'get /sessions/{id}/servers', '/sessions/app/servers')
    await ask(proxy, 'get /sessions/{id}/prompts', '/sessions/app/prompts')
    const stalled = schemas.AcceptedMessage.parse(
      await ask(proxy, 'post /message', '/message', { text: '[demo:stall]' }),
    )
    await ask(proxy, 'post /runs/{id}/cancel', `/runs/${stalled.id}/cancel`)
    await eventsUntil(listener, 'done')
    await ask(proxy, `post ${ofApp}`, '/sessions/app/conversations', { forkOf: begun.id, until: started.id })
    await ask(proxy, `get ${ofApp}`, '/sessions/app/conversations')
    const one = `/sessions/app/conversations/${begun.id}`
    asked.add(`get ${ofApp}/{conversationId}/servers`)
    const socket = new WebSocket(`${proxy.daemon.url.replace('http:', 'ws:')}${one}/servers`, { headers })
    const received = on(socket, 'message')
    await once(socket, 'open')
    socket.send(JSON.stringify({ type: 'servers', servers: [{ name: 'it', fingerprint: 'a' }] }))
    const outputs: { readonly type?: unknown }[] = []
    for await (const [data] of received) if (outputs.push(JSON.parse(String(data))) === 2) break
    expect(outputs.map(({ type }) => type)).toEqual(['ready', 'open'])
    for (const output of outputs) expect(problemsOf('RelayOutput', output)).toEqual([])
    socket.close()
    await ask(proxy, `patch ${ofApp}/{conversationId}`, one, { title: 'Notes' })
    await ask(proxy, `post ${ofApp}/{conversationId}/rewind`, `${one}/rewind`, { messageId: started.id, dryRun: true })
    await ask(proxy, `delete ${ofApp}/{conversationId}`, one)
    await ask(proxy, 'delete /sessions/{id}/history', '/sessions/app/history')
    listener.leave()
  })

  test('was asked for', () => {
    expect(ownRoutes.map(({ method, path }) => `${method} ${path}`).filter((route) => !asked.has(route))).toEqual([])
  })

  test('that refuses is an error', async () => {
    const proxy = await openAll()
    for (const path of ['/requests/unknown', '/requests?limit=0', '/runs/unknown', '/v1/models/none', '/nothing']) {
      const reply = await proxy.send(path)
      expect([path, reply.status >= 400, problemsOf('Error', reply.json())]).toEqual([path, true, []])
    }
  })

  test('with a field that its schema does not name would fail', async () => {
    const health = (await openInMemory().send('/healthz')).json()
    expect(problemsOf('Health', health)).toEqual([])
    expect(problemsOf('Health', { ...z.record(z.string(), z.unknown()).parse(health), more: 1 })).not.toEqual([])
  })
})
