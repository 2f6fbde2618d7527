import { describe, expect, test, vi } from 'vitest'
import { makeFolder } from '../tools/session.ts'
import { isThorough, some } from '../thorough.ts'
import { attackDaemon, childrenOf, isRunning, processorMs } from './attacked-daemon.ts'

// The texts of a folder may be made to take for ever. Each call must end with an answer, and others must be served meanwhile.

vi.setConfig({ testTimeout: 120_000 })

const servedMs = 1000

/** Some seconds of processor time, on a machine that has other things to do. */
const answeredMs = 60_000

const lineEnds = '\n'.repeat(250_000)
const slowGlob = `[${'*a'.repeat(14)}*b]`
const longName = `${'a'.repeat(120)}.json`
const many = (text: string, length: number): string => text.repeat(Math.floor(length / text.length))
const edit = (path: string): string => `--- a/${path}\n+++ b/${path}\n@@ -1 +1 @@\n-x\n+y\n`

const onLinux = describe.runIf(process.platform === 'linux')

onLinux('a folder whose files take for ever to read', () => {
  const hostile = [
    ['a glob with many stars in .editorconfig', { '.editorconfig': `${slowGlob}\nindent_size = 4\n` }, longName],
    ['60,000 sections in .editorconfig', { '.editorconfig': `${'[*]\n'.repeat(60_000)}indent_size = 4\n` }, 'a.json'],
    ['250,000 line ends in .editorconfig', { '.editorconfig': `${lineEnds}[*]\nindent_size = 4\n` }, 'a.json'],
    ['250,000 line ends in Cargo.toml', { 'Cargo.toml': lineEnds }, 'a.rs'],
    ['250,000 line ends in pyproject.toml', { 'pyproject.toml': lineEnds }, 'a.py'],
    ['250,000 brackets in package.json', { 'package.json': '['.repeat(250_000) }, 'a.json'],
    ['quotes of quotes', {}, 'a.md'],
  ] as const
  test.each(some(hostile, 6, 1))(
    '%s does not hold the others, nor does a dry run of a patch',
    async (_name, files, path) => {
      const text = path.endsWith('.md') ? '> '.repeat(90_000) : 'x\n'
      const daemon = await attackDaemon(await makeFolder({ ...files, [path]: text }))
      const dryRun = { unifiedDiff: edit(path), dryRun: true, format: true }
      const { value, elapsedMs, worstWaitMs, daemonMb, childMb } = await daemon.watch(() =>
        Promise.all([daemon.ask('mcp.format.apply', { path }), daemon.ask('mcp.edit.applyPatch', dryRun)]),
      )
      expect(value).toMatchObject([{ id: 1 }, { id: 1 }])
      expect(elapsedMs).toBeLessThan(answeredMs)
      expect(worstWaitMs).toBeLessThan(servedMs)
      expect(daemonMb).toBeLessThan(400)
      expect(childMb).toBeLessThan(600)
    },
  )

  test.runIf(isThorough)('SIGTERM ends the daemon and its worker meanwhile', async () => {
    const daemon = await attackDaemon(await makeFolder({ 'a.md': '> '.repeat(90_000) }))
    void daemon.ask('mcp.format.apply', { path: 'a.md' })
    const workers = await vi.waitUntil(() => hasAny(childrenOf(daemon.pid)), { timeout: 30_000 })
    expect(await daemon.stop('SIGTERM')).toMatchObject({ code: 0 })
    await vi.waitUntil(() => !workers.some(isRunning), { timeout: 30_000 })
  })

  test('a worker ends soon after a daemon that was killed', async () => {
    const daemon = await attackDaemon(await makeFolder({ 'a.md': '> '.repeat(90_000) }))
    void daemon.ask('mcp.format.apply', { path: 'a.md' })
    // It has started the text, which would take it a minute.
    const isBusy = () => hasAny(childrenOf(daemon.pid).filter((pid) => processorMs(pid) > 2000))
    const workers = await vi.waitUntil(isBusy, { timeout: 60_000 })
    await daemon.stop('SIGKILL')
    await vi.waitUntil(() => !workers.some(isRunning), { timeout: 20_000 })
  })

  test.runIf(isThorough)('workers that are stuck do not delay another workspace', async () => {
    const stuck = await makeFolder({ 'a.md': '> '.repeat(90_000), 'b.json': '{"a":1}' })
    const other = await makeFolder({ 'b.json': '{"a":1}' })
    const daemon = await attackDaemon(stuck, other)
    const names = [stuck, other].map((root) => root.split('/').at(-1))
    const format = (at: number, path: string) => daemon.ask('mcp.format.apply', { path, session: names[at] })
    const first = format(0, 'a.md').then(() => 'stuck')
    await vi.waitUntil(() => hasAny(childrenOf(daemon.pid)), { timeout: 30_000 })
    for (let call = 0; call < 10; call += 1) void format(0, 'a.md')
    const honest = format(1, 'b.json').then(() => 'honest')
    expect(await Promise.race([first, honest])).toBe('honest')
    expect(await first).toBe('stuck')
  })

  test.runIf(isThorough)('a policy that takes long to read or to compare denies', async () => {
    const yaml = `writes: { allow: ["**"], deny: [${'-,'.repeat(30_000)}] }`
    const globs = `writes:\n  deny:\n${`    - "*${'a'.repeat(900)}?b"\n`.repeat(60)}  allow: ["**"]\n`
    for (const policy of [yaml, globs]) {
      const root = await makeFolder({ '.agent-policy.yaml': policy })
      const daemon = await attackDaemon(root)
      const { value, worstWaitMs, elapsedMs } = await daemon.watch(() => daemon.ask('mcp.policy.get', {}))
      expect(value).toMatchObject({ result: { files: ['.agent-policy.yaml'] } })
      expect(worstWaitMs).toBeLessThan(servedMs)
      expect(elapsedMs).toBeLessThan(answeredMs)
    }
  })

  test.runIf(isThorough)('tasks of many entries do not hold the others', async () => {
    const root = await makeFolder({
      'package.json': `{"scripts":{},"x":[${many('{},', 1_000_000)}{}]}`,
      Makefile: many('a:b\n', 256_000),
      '.vscode/tasks.json': `{"tasks":[${many('{},', 120_000)}{}]}`,
    })
    const daemon = await attackDaemon(root)
    const { value, worstWaitMs } = await daemon.watch(() => daemon.ask('mcp.task.run', { name: 'missing' }))
    expect(value).toMatchObject({ error: { message: expect.stringContaining('There is no task "missing".') } })
    expect(worstWaitMs).toBeLessThan(servedMs)
  })
})

function hasAny(pids: readonly number[]): readonly number[] | false {
  return pids.length > 0 && pids
}
