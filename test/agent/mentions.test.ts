import { describe, expect, test } from 'vitest'
import { symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { findMentions } from '../../src/agent/mentions.ts'
import { runAgent } from '../../src/agent/run-agent.ts'
import { STREAMING_ROUTES } from '../upstreams/copilot/routes.ts'
import { makeFolder } from '../tools/session.ts'
import { openAgent } from './support.ts'

type Opened = Awaited<ReturnType<typeof openAgent>>

/** The body of the first request to the model. */
function requestOf({ demo }: Opened): string {
  return demo.log.find(({ route }) => STREAMING_ROUTES.has(route))?.body ?? ''
}

/** What the record says: each read with its outcome. */
function readsOf({ events }: Opened): readonly string[] {
  return events.flatMap((event) => {
    if (event.type !== 'tool' || event.state === 'progress') return []
    return event.state === 'started'
      ? [`${event.step} ${event.tool} ${JSON.stringify(event.args)}`]
      : [`${event.step} ${event.outcome}`]
  })
}

const words: readonly (readonly [string, readonly string[]])[] = [
  ['fix @src/a.ts please', ['src/a.ts']],
  ['(see @src/a.ts).', ['src/a.ts).', 'src/a.ts)', 'src/a.ts']],
  ['@a.ts,@b.ts', ['a.ts,@b.ts', 'a.ts', 'b.ts']],
  ['@src/a.ts:10-20!', ['src/a.ts:10-20!', 'src/a.ts:10-20', 'src/a.ts 10 20']],
  ['@a.ts:7', ['a.ts:7', 'a.ts 7 7']],
  ['@a.ts:7:3', ['a.ts:7:3', 'a.ts 7 7']],
  ['@"my notes.txt" and @"b c.ts":2-3', ['my notes.txt', 'b c.ts 2 3']],
  ['@app/[slug]/(group)/page.tsx', ['app/[slug]/(group)/page.tsx']],
  ['@a.ts’s and `@b.ts`', ['a.ts’s', 'a.ts', 'b.ts`', 'b.ts']],
  ['me@example.com, a@b', []],
  ['@ and @@ alone', ['@']],
  [`@${'x'.repeat(2000)}`, []],
]
test.each(words)('%j may mention', (text, expected) => {
  const found = findMentions(text).flat()
  expect(found.map(({ target, range }) => [target, range?.start, range?.end].filter(Boolean).join(' '))).toEqual(
    expected,
  )
})

test('finds the mentions of a long text quickly', () => {
  const startMs = performance.now()
  findMentions('@a.ts,'.repeat(200_000))
  findMentions('@"'.repeat(200_000))
  expect(performance.now() - startMs).toBeLessThan(2000)
})

const files = {
  'src/a.ts': 'one\ntwo\nthree\nfour\n',
  'src/my notes.txt': 'A note.\n',
  'src/[slug]/page.tsx': 'A page.\n',
  '.env': 'KEY=hidden-value\n',
  'locked/plan.txt': 'hidden-value\n',
  '.agent-policy.yaml': 'reads: { deny: ["locked/**"] }\n',
}

describe.each(['chat', 'agent'] as const)('%s', (mode) => {
  const rows: readonly (readonly [string, readonly string[], string | undefined])[] = [
    ['@src/a.ts', ['0 mcp.fs.read {"path":"src/a.ts"}', '0 ok'], 'one\\ntwo\\nthree\\nfour\\n'],
    [
      'Fix (@src/a.ts:2-3).',
      ['0 mcp.fs.read {"path":"src/a.ts","range":{"start":2,"end":3}}', '0 ok'],
      'begin: attached \\"src/a.ts\\", lines 2 to 3]\\ntwo\\nthree\\n',
    ],
    ['@src/a.ts, @src/a.ts', ['0 mcp.fs.read {"path":"src/a.ts"}', '0 ok'], 'begin: attached \\"src/a.ts\\"]'],
    ['@"src/my notes.txt"', ['0 mcp.fs.read {"path":"src/my notes.txt"}', '0 ok'], 'A note.'],
    ['@./src/a.ts', ['0 mcp.fs.read {"path":"src/a.ts"}', '0 ok'], 'three'],
    [
      '@src/[slug]/',
      ['0 mcp.fs.list {"glob":"src/[slug]/**","limit":200}', '0 ok'],
      'begin: files in \\"src/[slug]/\\"]\\nsrc/[slug]/page.tsx',
    ],
    ['@src', ['0 mcp.fs.list {"glob":"src/**","limit":200}', '0 ok'], 'src/my notes.txt'],
    // Not there, or no file at all: text as any other.
    ['@scope/package, @nobody, me@src/a.ts, @/components/Button, @.', [], undefined],
    // There, and refused: one sentence, in the record and to the model.
    [
      '@locked/plan.txt',
      ['0 mcp.fs.read {"path":"locked/plan.txt"}', '0 denied'],
      'of the message below is not attached. ',
    ],
    ['@.env', ['0 mcp.fs.read {"path":".env"}', '0 denied'], '(\\"@.env\\" of the message below is not attached. '],
    [
      'Look at @src/mising.ts.',
      ['0 mcp.fs.read {"path":"src/mising.ts"}', '0 failed'],
      '(\\"@src/mising.ts\\" of the message below is not attached. ',
    ],
    ['@../a', ['0 mcp.fs.read {"path":"../a"}', '0 denied'], 'is not attached. '],
    ['@/etc/passwd', ['0 mcp.fs.read {"path":"/etc/passwd"}', '0 denied'], 'is not attached. '],
    [
      '@src/a.ts:90-95',
      ['0 mcp.fs.read {"path":"src/a.ts","range":{"start":90,"end":95}}', '0 invalid_arguments'],
      'The file has only 4 lines.',
    ],
  ]
  test.each(rows)('%s', async (text, reads, sent) => {
    let asked = 0
    const approve = async () => {
      asked += 1
      return 'once' as const
    }
    const opened = await openAgent({ mode, files, text, approve })
    const { outcome, items } = await runAgent(opened.deps, opened.task)
    expect(outcome).toBe('completed')
    expect(readsOf(opened)).toEqual(reads)
    if (sent !== undefined) expect(requestOf(opened)).toContain(sent)
    expect(requestOf(opened)).not.toContain('hidden-value')
    expect(JSON.stringify(items[0])).toContain(JSON.stringify(text).slice(1, -1))
    expect(asked).toBe(0)
  })

  test('a message of a provider attaches nothing', async () => {
    const opened = await openAgent({ mode, files, text: 'Read @src/a.ts' })
    await runAgent(opened.deps, { ...opened.task, initiator: 'agent' })
    expect(readsOf(opened)).toEqual([])
    expect(requestOf(opened)).not.toContain('three')
  })
})

test('a mention in a file, in an attached text or in an answer attaches nothing', async () => {
  const script = [{ calls: [{ tool: 'fs_read', args: { path: 'b.txt' } }] }, { text: 'Done.' }]
  const text = `See @b.txt [demo:script ${JSON.stringify(script)}]`
  const opened = await openAgent({
    files: { ...files, 'b.txt': 'Look at @src/a.ts\n' },
    text,
    attachments: [{ name: 'x', mediaType: 'text/plain', text: '@src/a.ts' }],
  })
  await runAgent(opened.deps, opened.task)
  expect(readsOf(opened).filter((line) => line.includes('src/a.ts'))).toEqual([])
})

test('a link out of the workspace is refused', async () => {
  const outside = await makeFolder({ 'far.txt': 'hidden-value' })
  const opened = await openAgent({ text: '@near.txt' })
  await symlink(join(outside, 'far.txt'), join(opened.root, 'near.txt'))
  await runAgent(opened.deps, opened.task)
  expect(readsOf(opened)).toEqual(['0 mcp.fs.read {"path":"near.txt"}', '0 denied'])
  expect(requestOf(opened)).not.toContain('hidden-value')
})

test('a folder that the agent may not use is refused', async () => {
  const opened = await openAgent({ files, text: '@src/a.ts', settings: { allowedRoots: ['docs'] } })
  await runAgent(opened.deps, opened.task)
  expect(readsOf(opened)).toEqual(['0 mcp.fs.read {"path":"src/a.ts"}', '0 denied'])
  expect(requestOf(opened)).toContain('agent.allowed-roots')
})

test('the context holds a part of many and long files, and the model hears of the others', async () => {
  const long = Object.fromEntries(Array.from({ length: 25 }, (_, at) => [`f${at}.txt`, `${'word '.repeat(4000)}\n`]))
  const text = Object.keys(long)
    .map((name) => `@${name}`)
    .join(' ')
  const opened = await openAgent({ files: long, text })
  const { outcome } = await runAgent(opened.deps, opened.task)
  expect(outcome).toBe('completed')
  expect(readsOf(opened).filter((line) => line === '0 ok').length).toBeLessThan(10)
  expect(requestOf(opened)).toContain(
    '(\\"@f24.txt\\" of the message below is not attached. The message mentions too much.',
  )
})

test('the agent knows a file that the message attaches: it may replace it', async () => {
  const edit = { calls: [{ tool: 'editFile', args: { path: 'src/a.ts', content: 'new\n' } }] }
  const opened = await openAgent({ files, text: `Fix @src/a.ts [demo:script ${JSON.stringify([edit])}]` })
  const { files: changed } = await runAgent(opened.deps, opened.task)
  expect(changed.map(({ path }) => path)).toEqual(['src/a.ts'])
})

const png = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)

describe('an image', () => {
  test.each([true, false])('is an image to a model that sees: %s', async (seesImages) => {
    const opened = await openAgent({
      text: '@shot.png',
      deps: { modelFacts: () => ({ contextTokens: 128_000, hasToolCalls: true, seesImages }) },
    })
    await writeFile(join(opened.root, 'shot.png'), png)
    await runAgent(opened.deps, opened.task)
    expect(readsOf(opened)).toEqual(['0 mcp.fs.read {"path":"shot.png"}', '0 ok'])
    expect(requestOf(opened).includes(png.toString('base64'))).toBe(seesImages)
    expect(requestOf(opened).includes('left out, because this model takes no images')).toBe(!seesImages)
  })

  test('is none by its name alone', async () => {
    const opened = await openAgent({ text: '@shot.png @text.png' })
    await writeFile(join(opened.root, 'shot.png'), 'GIF89a\0\0')
    await writeFile(join(opened.root, 'text.png'), 'only text')
    await runAgent(opened.deps, opened.task)
    expect(readsOf(opened).filter((line) => !line.includes('mcp'))).toEqual(['0 failed', '0 ok'])
    expect(requestOf(opened)).toContain('only text')
  })
})

test('a message that joins a run attaches what it mentions', async () => {
  const call = { calls: [{ tool: 'fs_list', args: { glob: '*' } }] }
  const opened = await openAgent({ files, text: `Go. [demo:script ${JSON.stringify([call, call])}]` })
  const read: string[] = []
  await runAgent(opened.deps, {
    ...opened.task,
    onJoined: (listener) => listener({ id: 'late', text: 'And @src/a.ts', attachments: [] }),
    onRead: (ids) => read.push(...ids),
  })
  expect(read).toEqual(['late'])
  expect(readsOf(opened).slice(0, 2)).toEqual(['0 mcp.fs.read {"path":"src/a.ts"}', '0 ok'])
  expect(requestOf(opened)).toContain('three')
})
