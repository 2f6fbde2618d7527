import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { openProxy } from '../http/harness.ts'
import type { ProxyOptions } from '../http/harness.ts'
import { makeFolder } from '../tools/session.ts'

const cli = { version: '0.169.0', instructions: 'You are a coding agent.', traits: {} }
const old = JSON.stringify({ models: [{ slug: 'model-of-yesterday', base_instructions: '' }] })

/** A daemon, and the files that `setup codex` wrote before its start. */
async function openFiles(options: ProxyOptions = {}, catalogue: string | null = old) {
  const folder = await makeFolder()
  const codexFiles = {
    codexModelsDir: join(folder, 'codex-models'),
    codexCliFile: join(folder, 'codex-cli.json'),
  }
  const [codexCatalogueFile, otherFile] = ['one', 'other'].map((name) =>
    join(codexFiles.codexModelsDir, `${name}.json`),
  )
  await mkdir(codexFiles.codexModelsDir)
  await writeFile(codexFiles.codexCliFile, JSON.stringify(cli))
  if (catalogue !== null) for (const file of [codexCatalogueFile, otherFile]) await writeFile(file ?? '', catalogue)
  const proxy = await openProxy({ ...options, codexFiles })
  const slugs = async (file = codexCatalogueFile): Promise<readonly string[]> => {
    const { models } = JSON.parse(await readFile(file ?? '', 'utf8'))
    return models.map(({ slug }: { slug: string }) => slug)
  }
  return { folder: codexFiles.codexModelsDir, proxy, slugs, codexCatalogueFile: codexCatalogueFile ?? '', otherFile }
}

test('the models that setup wrote for Codex CLI follow those of the account and the configuration', async () => {
  const { proxy, slugs, codexCatalogueFile, otherFile } = await openFiles()
  await vi.waitFor(async () => expect(await slugs()).toContain('claude-sonnet-4.5'), { timeout: 30_000 })
  await vi.waitFor(async () => expect(await slugs(otherFile)).toContain('claude-sonnet-4.5'), { timeout: 30_000 })
  expect(await slugs()).not.toContain('model-of-yesterday')
  const { models } = JSON.parse(await readFile(codexCatalogueFile, 'utf8'))
  expect(models[0]).toMatchObject({ base_instructions: cli.instructions })
  proxy.daemon.reconfigure(proxy.configure('models: { hide: [claude-sonnet-4.5] }'))
  await vi.waitFor(async () => expect(await slugs()).not.toContain('claude-sonnet-4.5'), { timeout: 30_000 })
})

test('a Codex CLI of the same version gets its own prompt over HTTP too', async () => {
  const { proxy } = await openFiles()
  const promptFor = async (version: string) => {
    const { models } = JSON.parse((await proxy.send(`/v1/models?client_version=${version}`)).text)
    return models[0].base_instructions
  }
  expect(await promptFor('0.169.0')).toBe(cli.instructions)
  expect(await promptFor('0.170.0')).not.toBe(cli.instructions)
})

test('without setup the daemon writes no file', async () => {
  const { proxy, folder } = await openFiles({}, null)
  proxy.daemon.reconfigure(proxy.configure('models: { hide: [gpt-5] }'))
  await proxy.daemon.close(0)
  expect(await readdir(folder)).toEqual([])
})

test('a hidden model that was chosen by its name stays in the catalogue', async () => {
  const hidden = { slug: 'hidden-model', base_instructions: '', copilot_proxy_chosen: true }
  const before = { models: [...JSON.parse(old).models, hidden] }
  const { slugs } = await openFiles({}, JSON.stringify(before))
  await vi.waitFor(async () => expect(await slugs()).toContain('claude-sonnet-4.5'), { timeout: 30_000 })
  expect(await slugs()).toContain('hidden-model')
  expect(await slugs()).not.toContain('model-of-yesterday')
})

test('the built-in models never replace those of the account', async () => {
  const { proxy, slugs } = await openFiles({ login: 'none' })
  await proxy.daemon.close(0)
  expect(await slugs()).toEqual(['model-of-yesterday'])
})
