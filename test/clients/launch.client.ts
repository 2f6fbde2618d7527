import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { expect, test } from 'vitest'
import type { ClientId } from '../../src/client-settings/target.ts'
import { openProxy } from '../http/harness.ts'
import type { Proxy } from '../http/harness.ts'
import { claudeCode } from './claude-code.ts'
import type { Client, Place } from './client.ts'
import { codex } from './codex.ts'
import { opencode } from './opencode.ts'
import { baseEnvironment, openPlace, programOf } from './place.ts'
import { startClient } from './run-client.ts'
import type { Finished } from './run-client.ts'
import { generationsOf } from './upstream-view.ts'

interface Launch {
  readonly client: ClientId
  readonly args: readonly string[]
  /** A settings file of the user's own that would lead the client elsewhere. */
  readonly file: string
  readonly text: string
  /** Where a project has the same, in the folder that is worked in. */
  readonly project?: string
  /** What it says there; the same where absent. */
  readonly projectText?: string
  /** That the client is to use by itself. */
  readonly model: string
  readonly read: Client['read']
}

const launches: readonly Launch[] = [
  {
    client: 'claude',
    args: ['--output-format=stream-json', '--verbose', '--print', '--', 'Hello there'],
    file: '.claude/settings.json',
    text: JSON.stringify({
      env: {
        ANTHROPIC_BASE_URL: 'http://127.0.0.1:1',
        ANTHROPIC_API_KEY: 'sk-ant-theirs',
        ANTHROPIC_MODEL: 'theirs',
        CLAUDE_CODE_USE_MANTLE: '1',
        HTTP_PROXY: 'http://127.0.0.1:1',
      },
    }),
    project: '.claude/settings.local.json',
    model: 'claude-sonnet-5.5',
    read: claudeCode.read,
  },
  {
    client: 'codex',
    args: [
      'exec',
      '--json',
      '--skip-git-repo-check',
      '--dangerously-bypass-approvals-and-sandbox',
      '--',
      'Hello there',
    ],
    file: '.codex/config.toml',
    text: `model = "theirs"
model_provider = "theirs"

[model_providers.theirs]
name = "theirs"
base_url = "http://127.0.0.1:1/v1"
wire_api = "responses"

# Where it reaches nobody, a report that it tries to deliver holds up its end.
[analytics]
enabled = false
`,
    model: 'gpt-5.6',
    read: codex.read,
  },
  {
    client: 'opencode',
    args: ['run', '--format=json', '--title=test', 'Hello there'],
    file: '.config/opencode/opencode.json',
    text: JSON.stringify({
      $schema: 'https://opencode.ai/config.json',
      model: 'theirs/theirs',
      provider: {
        theirs: {
          npm: '@ai-sdk/openai-compatible',
          options: { baseURL: 'http://127.0.0.1:1/v1', apiKey: 'theirs' },
          models: { theirs: {} },
        },
      },
    }),
    project: 'opencode.json',
    // It ignores all others.
    projectText: JSON.stringify({ $schema: 'https://opencode.ai/config.json', enabled_providers: ['theirs'] }),
    model: 'claude-sonnet-5.5',
    read: opencode('@ai-sdk/anthropic').read,
  },
]

const mainFile = join(import.meta.dirname, '../../src/main.ts')

/** A proxy that asks for a key, and what a client of this user's finds in its environment. */
async function openCase(): Promise<{
  readonly proxy: Proxy
  readonly place: Place
  readonly env: Record<string, string>
}> {
  const proxy = await openProxy({ file: 'server: { api-keys: [right-key] }' })
  const place = await openPlace()
  const env = baseEnvironment(place)
  return {
    proxy,
    place,
    env: {
      ...env,
      PATH: `${join(programOf('claude'), '..')}${delimiter}${env['PATH']}`,
      COPILOT_PROXY_SERVER_PORT: new URL(proxy.url).port,
      COPILOT_PROXY_SERVER_API_KEYS: 'right-key',
      COPILOT_GITHUB_TOKEN: 'ghu_not-used-here',
      CLAUDE_CODE_MAX_RETRIES: '1',
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      OPENCODE_DISABLE_AUTOUPDATE: '1',
      OPENCODE_DISABLE_MODELS_FETCH: '1',
      OPENCODE_DISABLE_LSP_DOWNLOAD: '1',
    },
  }
}

function expectAnswer({ read, model }: Launch, finished: Finished, proxy: Proxy): void {
  expect(read(finished)).toEqual({
    text: expect.stringContaining(`Hello from ${model}, simulated by copilot-proxy --demo.`),
    failure: '',
  })
  expect(finished.exitCode).toBe(0)
  expect(new Set(generationsOf(proxy).map((each) => each.model))).toEqual(new Set([model]))
}

test.each(launches)('launch $client works, whatever settings files say, and leaves them alone', async (each) => {
  const { proxy, place, env } = await openCase()
  const files = new Map([[join(place.home, each.file), each.text]])
  if (each.project !== undefined) files.set(join(place.workspace, each.project), each.projectText ?? each.text)
  for (const [file, text] of files) {
    await mkdir(join(file, '..'), { recursive: true })
    await writeFile(file, text)
  }
  const args = [mainFile, 'launch', each.client, '--', ...each.args]
  const finished = await startClient({ program: process.execPath, args, cwd: place.workspace, env }).finished
  expect(finished.stderr).toContain(`with ${each.model}`)
  expectAnswer(each, finished, proxy)
  for (const [file, text] of files) expect(await readFile(file, 'utf8')).toBe(text)
})

test.each(launches)('setup $client makes it work without launch, and undo leaves its file as it was', async (each) => {
  const { proxy, place, env } = await openCase()
  const file = join(place.home, each.file)
  await mkdir(join(file, '..'), { recursive: true })
  const own = each.client === 'claude' ? '{}' : each.text
  await writeFile(file, own)
  const setup = async (...args: readonly string[]): Promise<void> => {
    const command = [mainFile, 'setup', each.client, '--yes', ...args]
    const { exitCode, stderr } = await startClient({
      program: process.execPath,
      args: command,
      cwd: place.workspace,
      env,
    }).finished
    expect(stderr).toContain(args.length === 0 ? 'now uses copilot-proxy' : 'no longer uses copilot-proxy')
    expect(exitCode).toBe(0)
  }
  await setup()
  const program = programOf(each.client)
  const clientEnv = { ...env, COPILOT_PROXY_API_KEY: 'right-key' }
  const finished = await startClient({ program, args: each.args, cwd: place.workspace, env: clientEnv }).finished
  expectAnswer(each, finished, proxy)
  await setup('--undo')
  expect(await readFile(file, 'utf8')).toBe(own)
})
