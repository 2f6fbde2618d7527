import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { openProxy } from '../http/harness.ts'
import { claudeCode } from './claude-code.ts'
import { baseEnvironment, openPlace, programOf } from './place.ts'
import { startClient } from './run-client.ts'
import type { Finished } from './run-client.ts'
import { startInTerminal } from './terminal.ts'
import { generationsOf } from './upstream-view.ts'

const mainFile = join(import.meta.dirname, '../../src/main.ts')
const notice = /Model metadata for/
const escape = '\u001B'
const f2 = '\u001BOQ'
const exec = ['exec', '--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox']

/** A proxy, and a user who has the clients and no settings of them but that Codex reports nothing. */
async function openUser() {
  const proxy = await openProxy()
  const place = await openPlace()
  const base = baseEnvironment(place)
  const env = {
    ...base,
    PATH: `${join(programOf('codex'), '..')}${delimiter}${base['PATH']}`,
    COPILOT_PROXY_SERVER_PORT: new URL(proxy.url).port,
    COPILOT_GITHUB_TOKEN: 'ghu_not-used-here',
    COPILOT_PROXY_HOME: join(place.home, 'proxy'),
    CLAUDE_CODE_MAX_RETRIES: '1',
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
  }
  const codexConfig = join(place.home, '.codex/config.toml')
  await mkdir(join(codexConfig, '..'))
  const own = `[analytics]\nenabled = false\n\n[projects.${JSON.stringify(place.workspace)}]\ntrust_level = "trusted"\n`
  await writeFile(codexConfig, own)
  const start = (program: string, ...args: readonly string[]): Promise<Finished> =>
    startClient({ program, args, cwd: place.workspace, env }).finished
  const run = (...args: readonly string[]): Promise<Finished> => start(process.execPath, mainFile, ...args)
  return { proxy, place, env, own, codexConfig, start, run }
}

function slugsOf(stdout: string): readonly string[] {
  return JSON.parse(stdout).models.map(({ slug }: { slug: string }) => slug)
}

/** The prompt of Codex in a request to upstream, whose first developer message it is. */
function promptIn(body: string): string {
  const { input } = JSON.parse(body)
  return input.find(({ role }: { role: string }) => role === 'developer').content[0].text
}

describe('Codex CLI', () => {
  test('launch gives it the models of the account, without a notice and with its own prompt', async () => {
    const { proxy, run, start, codexConfig, own } = await openUser()
    const listed = await run('launch', 'codex', '--', 'debug', 'models')
    expect(listed.stderr).not.toContain('starts with its own list')
    expect(slugsOf(listed.stdout)).toEqual(
      expect.arrayContaining(['gpt-5.6', 'claude-sonnet-4.5', 'gemini-3-pro-preview']),
    )
    // A model of Responses, so that upstream gets the prompt as it is, which Codex does not know.
    const model = 'gpt-5.3-codex'
    const launched = await run('launch', 'codex', '--model', model, '--', ...exec, '--', 'Hello there')
    expect(launched.stderr).not.toMatch(notice)
    expect(launched.stdout).toContain(`Hello from ${model}`)
    expect(await readFile(codexConfig, 'utf8')).toBe(own)
    // Without the catalogue there is the notice, and the same prompt.
    const provider = `model_providers.p={name="p",base_url="${proxy.url}/v1",wire_api="responses"}`
    const options = [`model="${model}"`, 'model_provider="p"', provider].flatMap((option) => ['-c', option])
    const plain = await start(programOf('codex'), ...exec, ...options, '--', 'Hello there')
    expect(plain.stderr).toMatch(notice)
    const [first, second] = generationsOf(proxy).map(({ text }) => promptIn(text))
    expect(first).toBe(second)
    expect(first?.length).toBeGreaterThan(1000)
  })

  test('in a terminal, /model lists the models of the account, and no notice appears', async () => {
    const { place, env } = await openUser()
    const args = [mainFile, 'launch', 'codex', '--model', 'claude-sonnet-4.5']
    const terminal = startInTerminal({ program: process.execPath, args, cwd: place.workspace, env })
    // It draws only what changes, so that a part of the line may be an older one.
    await terminal.seen(/← [^]*agen[^]*warning/)
    terminal.type(f2)
    // Its only warning is that of every session with options on its command line.
    await terminal.seen(/Warnings · 1 of 1[^]*command-line configuration overrides[^]*esc dismiss/)
    terminal.type(escape)
    await terminal.seen(/Ask Codex to do anything/)
    terminal.type('/model')
    await terminal.seen(/choose what model and reasoning effort to use/)
    terminal.type('\r')
    await terminal.seen(/Select Model and Effort/)
    expect(terminal.shown()).not.toMatch(notice)
  })

  test('setup gives it the models for good, and undo leaves no path to nothing', async () => {
    const { run, start, codexConfig, own } = await openUser()
    expect(await run('setup', 'codex', '--yes', '--model', 'claude-sonnet-4.5')).toMatchObject({ exitCode: 0 })
    const listed = await start(programOf('codex'), 'debug', 'models')
    expect(slugsOf(listed.stdout)).toContain('gemini-3-pro-preview')
    const plain = await start(programOf('codex'), ...exec, '--', 'Hello there')
    expect(plain.stdout).toContain('Hello from claude-sonnet-4.5')
    expect(plain.stderr).not.toMatch(notice)

    // Codex does not start without the file.
    const catalogue = JSON.parse(/^model_catalog_json = (.*)$/m.exec(await readFile(codexConfig, 'utf8'))?.[1] ?? '')
    const text = await readFile(catalogue, 'utf8')
    await rm(catalogue)
    expect(await start(programOf('codex'), 'debug', 'models')).toMatchObject({ exitCode: 1 })
    expect((await run('doctor')).stdout).toContain('Codex CLI cannot start')
    await writeFile(catalogue, text)

    expect(await run('setup', 'codex', '--undo', '--yes')).toMatchObject({ exitCode: 0 })
    expect(await readFile(codexConfig, 'utf8')).toBe(own)
    await expect(readFile(catalogue)).rejects.toThrow(/ENOENT/)
    expect(slugsOf((await start(programOf('codex'), 'debug', 'models')).stdout)).not.toContain('gemini-3-pro-preview')
  })
})

describe('Claude Code', () => {
  const print = ['--output-format=stream-json', '--verbose', '--print']

  test('offers models of GPT and Gemini by names that it accepts, and uses them', async () => {
    const { proxy, run, place } = await openUser()
    await run('launch', 'claude', '--', ...print, '--', 'Hello there')
    const { models } = JSON.parse(await readFile(join(place.home, '.claude/cache/gateway-models.json'), 'utf8'))
    const ids: readonly string[] = models.map(({ id }: { id: string }) => id)
    expect(ids).toEqual(
      expect.arrayContaining(['anthropic/gpt-5.6', 'anthropic/gemini-3-pro-preview', 'claude-sonnet-4.5']),
    )
    for (const [id, model] of [
      ['anthropic/gpt-5.6', 'gpt-5.6'],
      ['anthropic/gemini-3-pro-preview', 'gemini-3-pro-preview'],
    ] as const) {
      const finished = await run('launch', 'claude', '--', ...print, '--model', id, '--', 'Hello there')
      expect(claudeCode.read(finished)).toMatchObject({ failure: '', text: expect.stringContaining(model) })
      expect(generationsOf(proxy).at(-1)?.model).toBe(model)
    }
  })

  test.each(['claude-opus-4.8', 'gpt-4.1'])('asks %s for no longer answer than it gives', async (model) => {
    const { proxy, run } = await openUser()
    await run('launch', 'claude', '--model', model, '--', ...print, '--', 'Hello there')
    expect(generationsOf(proxy)).not.toHaveLength(0)
    const logged = JSON.stringify(proxy.log.map(({ fields }) => fields['warnings']))
    expect(logged).not.toContain('clamped;max_tokens')
  })
})
