import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { openProxy } from '../../http/harness.ts'
import { fakePrompt, installFakeCodex } from '../fake-codex.ts'
import { createUser } from '../harness.ts'
import type { TestUser } from '../harness.ts'

/** A user with Codex CLI, whose daemon runs. */
async function openUser() {
  const proxy = await openProxy()
  const user = await createUser()
  Object.assign(user.env, {
    COPILOT_PROXY_SERVER_PORT: new URL(proxy.url).port,
    COPILOT_GITHUB_TOKEN: 'ghu_somebody',
  })
  const codex = await installFakeCodex(user)
  const config = join(user.home, '.codex/config.toml')
  const catalogues = join(user.home, 'codex-models')
  return { user, proxy, codex, config, catalogues }
}

/** The catalogue that a configuration of Codex names. */
async function catalogueOf(config: string): Promise<string> {
  return JSON.parse(/^model_catalog_json = (".*")$/m.exec(await readFile(config, 'utf8'))?.[1] ?? '""')
}

const theirs = 'model = "theirs" # mine\napproval_policy = "never"\n'

/** An upgraded Codex, which asks for a field that no catalogue has. */
const tomorrow = { version: '0.170.0', required: ['field_of_tomorrow'] }

async function putTheirs(config: string): Promise<void> {
  await mkdir(dirname(config), { recursive: true })
  await writeFile(config, theirs)
}

describe('launch codex', () => {
  test('gives it the models of the account, each with the prompt for a model that it does not know', async () => {
    const { user, codex, config } = await openUser()
    await putTheirs(config)
    expect(await user.run('launch codex -- -x')).toMatchObject({
      code: 0,
      stderr: 'Starting Codex CLI with gpt-5.6.\n',
    })
    const { session, catalogue } = (await codex.log()).at(-1) ?? {}
    expect(session).toEqual(expect.arrayContaining(['-c', expect.stringMatching(/^model_catalog_json="/), '-x']))
    // It holds for every model that is chosen later.
    expect(session?.join(' ')).not.toContain('model_context_window')
    const models = catalogue?.models ?? []
    expect(models.map(({ slug }) => slug)).toEqual(
      expect.arrayContaining(['claude-sonnet-4.5', 'gemini-3-pro-preview']),
    )
    expect(new Set(models.map(({ base_instructions: text }) => text))).toEqual(new Set([fakePrompt]))
    // What it knows of the use of its own models stays, and what it knows of OpenAI's service does not.
    const known = models.find(({ slug }) => slug === 'gpt-5.6')
    expect(known).toMatchObject({ apply_patch_tool_type: 'freeform' })
    expect(known?.['context_window']).not.toBe(1)
    expect(known).not.toHaveProperty('upgrade')
    expect(await readFile(config, 'utf8')).toBe(theirs)
    // It goes with the session.
    const path = session?.find((arg) => arg.startsWith('model_catalog_json='))?.split('=')[1] ?? ''
    await expect(readFile(JSON.parse(path))).rejects.toThrow(/ENOENT/)
  })

  test('looks for the prompt once for each version, where no file of the user’s is', async () => {
    const { user, codex } = await openUser()
    for (let turn = 1; turn <= 2; turn += 1) await user.run('launch codex')
    await codex.become({ version: '0.170.0', prompt: 'Another prompt.' })
    await user.run('launch codex')
    const log = await codex.log()
    const probes = log.filter(({ exec }) => exec !== undefined)
    expect(probes).toHaveLength(2)
    for (const { home } of probes) expect(home).not.toContain(user.home)
    expect(log.at(-1)?.catalogue?.models[0]).toMatchObject({ base_instructions: 'Another prompt.' })
  })

  test.each([
    ['asks for another field', tomorrow, 'missing field field_of_tomorrow'],
    ['shows no prompt', { prompt: '<permissions>none</permissions>' }, 'did not show its prompt'],
  ])('starts without a catalogue, and says so in one line, if it %s', async (_what, facts, reason) => {
    const { user, codex } = await openUser()
    await codex.become(facts)
    const { code, stderr } = await user.run('launch codex --model claude-sonnet-4.5')
    expect(code).toBe(0)
    expect(stderr.split('\n')).toEqual([
      'Starting Codex CLI with claude-sonnet-4.5.',
      expect.stringMatching(/^Note: Codex CLI starts with its own list of models: /),
      '',
    ])
    expect(stderr).toContain(reason)
    const { session, catalogue } = (await codex.log()).at(-1) ?? {}
    expect(catalogue).toBeNull()
    expect(session?.join(' ')).toContain('model_context_window=')
  })
})

test('launch codex gives it a hidden model that is chosen by its name, and refuses an unknown one', async () => {
  const { user, proxy, codex } = await openUser()
  proxy.daemon.reconfigure(proxy.configure('models: { hide: [claude-opus-4.8] }'))
  expect(await user.run('launch codex --model claude-opus-4.8')).toMatchObject({ code: 0 })
  const { session, catalogue } = (await codex.log()).at(-1) ?? {}
  expect(catalogue?.models.map(({ slug }) => slug)).toContain('claude-opus-4.8')
  expect(session).toContain('model="claude-opus-4.8"')
  const unknown = await user.run('launch codex --model claude-opus-4.88')
  expect(unknown).toMatchObject({ code: 2, stderr: expect.stringContaining('claude-opus-4.8') })
  expect(await codex.log()).toHaveLength(2)
})

describe('setup codex', () => {
  test('writes the models beside the setting that names them, and undo removes both', async () => {
    const { user, config, catalogues } = await openUser()
    await putTheirs(config)
    const done = await user.run('setup codex --yes')
    expect(done).toMatchObject({ code: 0 })
    const catalogue = await catalogueOf(config)
    expect(dirname(catalogue)).toBe(catalogues)
    expect(done.stdout).toContain(`+model_catalog_json = ${JSON.stringify(catalogue)}`)
    expect(JSON.parse(await readFile(catalogue, 'utf8')).models[0]).toMatchObject({ base_instructions: fakePrompt })
    expect((await readdir(catalogues)).filter((name) => name.endsWith('.tmp'))).toEqual([])

    // A file that was lost comes back.
    await rm(catalogue)
    expect(await user.run('setup codex --yes')).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('Nothing to do'),
    })
    expect(JSON.parse(await readFile(catalogue, 'utf8')).models).not.toHaveLength(0)

    expect(await user.run('setup codex --undo --dry-run')).toMatchObject({ code: 0 })
    expect(await readdir(catalogues)).toHaveLength(1)
    expect(await user.run('setup codex --undo --yes')).toMatchObject({ code: 0 })
    expect(await readFile(config, 'utf8')).toBe(theirs)
    expect(await readdir(catalogues)).toEqual([])
  })

  test('two folders of Codex have catalogues of their own, and undoing one leaves the other whole', async () => {
    const { user, config, catalogues } = await openUser()
    const other = join(user.home, 'other')
    await mkdir(other)
    await user.run('setup codex --yes')
    user.env['CODEX_HOME'] = other
    await user.run('setup codex --yes --model claude-sonnet-4.5')
    const files = [await catalogueOf(config), await catalogueOf(join(other, 'config.toml'))]
    expect(new Set(files).size).toBe(2)
    expect(await user.run('setup codex --undo --yes')).toMatchObject({ code: 0 })
    expect(await readdir(catalogues)).toEqual([basename(files[0] ?? '')])
    delete user.env['CODEX_HOME']
    expect(await findings(user)).not.toContain('model_catalog_json')
  })

  test('a hidden model that is chosen by its name is in the catalogue', async () => {
    const { user, proxy, config } = await openUser()
    proxy.daemon.reconfigure(proxy.configure('models: { hide: [claude-opus-4.8] }'))
    await user.run('setup codex --yes --model claude-opus-4.8')
    const slugs = async () =>
      JSON.parse(await readFile(await catalogueOf(config), 'utf8')).models.map(({ slug }: { slug: string }) => slug)
    expect(await slugs()).toContain('claude-opus-4.8')
    await user.run('setup codex --yes --model claude-sonnet-4.5')
    expect(await slugs()).not.toContain('claude-opus-4.8')
  })

  test('takes the setting back if the next Codex refuses the models', async () => {
    const { user, codex, config } = await openUser()
    await putTheirs(config)
    await user.run('setup codex --yes')
    await codex.become(tomorrow)
    const again = await user.run('setup codex --yes')
    expect(again.stderr).toContain('Codex CLI keeps its own list of models: codex debug models failed: Error: missing')
    expect(await readFile(config, 'utf8')).not.toContain('model_catalog_json')
  })

  test.each([['--dry-run'], ['']])('writes nothing without consent: %s', async (option) => {
    const { user, catalogues } = await openUser()
    const { stdout } = await user.run(`setup codex ${option}`, { interactive: true })
    expect(stdout).toContain(`+model_catalog_json = "${catalogues}/`)
    expect(await readdir(catalogues).catch(() => [])).toEqual([])
  })

  test('a catalogue of the user’s own comes back with undo', async () => {
    const { user, config } = await openUser()
    await putTheirs(config)
    const own = `model_catalog_json = "/own/models.json"\n${theirs}`
    await writeFile(config, own)
    await user.run('setup codex --yes')
    expect(await readFile(config, 'utf8')).not.toContain('/own/models.json')
    await user.run('setup codex --undo --yes')
    expect(await readFile(config, 'utf8')).toBe(own)
  })
})

/** What doctor says of the settings of clients. */
async function findings(user: TestUser): Promise<string> {
  const { stdout } = await user.run('doctor --json')
  const { checks } = JSON.parse(stdout)
  return JSON.stringify(checks.filter(({ id }: { id: string }) => id === 'clients'))
}

describe('doctor', () => {
  test('finds a catalogue that is missing, and one that Codex refuses, and names the remedy', async () => {
    const all = await openUser()
    await all.user.run('setup codex --yes')
    expect(await findings(all.user)).not.toContain('model_catalog_json')
    await all.codex.become(tomorrow)
    const refused = await findings(all.user)
    expect(refused).toContain('missing field field_of_tomorrow')
    expect(refused).toContain('copilot-proxy setup codex')
    await rm(await catalogueOf(all.config))
    expect(await findings(all.user)).toContain('does not exist')
  })
})
