import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { TestUser } from './harness.ts'

/** What the fake gives a model that it does not know, as the first message of a request. */
export const fakePrompt = 'You are a coding agent in a fake Codex.'

/**
 * As Codex CLI 0.169: `debug models` prints its models or those of the catalogue, and fails for a file that lacks a field;
 * `exec` sends its prompt to the provider of its options. Anything else is a session, whose arguments it writes to a file
 * with the catalogue of that moment.
 */
const script = (log: string) => `#!${process.execPath}
const { readFileSync, appendFileSync } = require('node:fs')
const args = process.argv.slice(2)
const facts = JSON.parse(readFileSync(${JSON.stringify(`${log}.json`)}, 'utf8'))
const note = (entry) => appendFileSync(${JSON.stringify(log)}, JSON.stringify(entry) + '\\n')
const options = new Map(args.flatMap((arg, at) => {
  const [, key, value] = args[at - 1] === '-c' ? /^([^=]+)=([^]*)$/.exec(arg) : []
  return key === undefined ? [] : [[key, JSON.parse(value)]]
}))
const inFile = () => {
  const file = /^model_catalog_json = (".*")$/m
  try { return JSON.parse(file.exec(readFileSync(process.env.HOME + '/.codex/config.toml', 'utf8'))[1]) } catch { return undefined }
}
const fail = (message) => { console.error(message); process.exit(1) }
if (args[0] === '--version') console.log('codex-cli ' + facts.version)
else if (args[0] === 'debug') {
  const path = options.get('model_catalog_json') ?? (process.env.CODEX_HOME ? undefined : inFile())
  if (path === undefined) console.log(JSON.stringify({ models: [{ slug: 'gpt-5.6', base_instructions: 'You are GPT.', apply_patch_tool_type: 'freeform', context_window: 1, upgrade: { model: 'x' } }] }))
  else {
    let text
    try { text = readFileSync(path, 'utf8') } catch { fail('Error: failed to read model_catalog_json') }
    const { models } = JSON.parse(text)
    if (models.length === 0) fail('Error: model_catalog_json must have a model')
    for (const model of models) for (const field of facts.required) if (model[field] === undefined) fail('Error: missing field ' + field)
    console.log(text)
  }
} else if (args[0] === 'exec') {
  note({ exec: args, home: process.env.CODEX_HOME })
  const content = [{ type: 'input_text', text: facts.prompt }]
  fetch(options.get('model_providers.probe.base_url') + '/responses', {
    method: 'POST', body: JSON.stringify({ model: options.get('model'), input: [{ type: 'message', role: 'developer', content }] }),
  }).then(({ status }) => process.exit(status === 400 ? 1 : 0))
} else {
  const path = options.get('model_catalog_json')
  note({ session: args, catalogue: path === undefined ? null : JSON.parse(readFileSync(path, 'utf8')) })
}
`

const required = [
  'slug',
  'display_name',
  'supported_reasoning_levels',
  'shell_type',
  'visibility',
  'supported_in_api',
  'priority',
  'support_verbosity',
  'truncation_policy',
  'experimental_supported_tools',
  'base_instructions',
]

interface Catalogue {
  readonly models: readonly Readonly<Record<string, unknown>>[]
}

interface Entry {
  readonly exec?: readonly string[]
  readonly home?: string
  readonly session?: readonly string[]
  readonly catalogue?: Catalogue | null
}

export interface FakeCodex {
  /** Changes what it demands, what it says, or its version. */
  readonly become: (facts: { version?: string; required?: readonly string[]; prompt?: string }) => Promise<void>
  /** What it did, the oldest first. */
  readonly log: () => Promise<readonly Entry[]>
}

/** Installs it for this user. */
export async function installFakeCodex(user: TestUser): Promise<FakeCodex> {
  const bin = join(user.home, 'bin')
  await mkdir(bin)
  const log = join(bin, 'log')
  const facts = { version: '0.169.0', required, prompt: fakePrompt }
  const become: FakeCodex['become'] = (change) => writeFile(`${log}.json`, JSON.stringify({ ...facts, ...change }))
  await become({})
  await writeFile(join(bin, 'codex'), script(log))
  await chmod(join(bin, 'codex'), 0o755)
  Object.assign(user.env, { PATH: bin, HOME: user.home })
  return {
    become,
    log: async () =>
      (await readFile(log, 'utf8').catch(() => ''))
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line)),
  }
}
