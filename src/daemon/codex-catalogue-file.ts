import * as nodeFs from 'node:fs/promises'
import { join } from 'node:path'
import { replaceFile } from '../auth/records/atomic-file.ts'
import type { Logger } from '../logging/logger.ts'
import type { ListedModel } from '../models/catalogue.ts'
import {
  catalogueText,
  codexCatalogue,
  codexCli,
  fitCatalogue,
  keepChosen,
  renderCodexCatalogue,
} from '../models/codex-catalogue.ts'
import type { CodexCatalogue, CodexCli } from '../models/codex-catalogue.ts'
import { parseJson } from '../json/json.ts'

/** Written by `setup codex`; both may be missing. */
export interface CodexFiles {
  /** A catalogue for each configuration of Codex. */
  readonly codexModelsDir: string
  readonly codexCliFile: string
}

interface CatalogueFileDeps {
  readonly files: CodexFiles | undefined
  readonly models: () => readonly ListedModel[]
  readonly log: Logger
}

/** Keeps the models that `setup codex` has written for Codex CLI those of the accounts. Never creates the file. */
export function createCatalogueFile({ files, models, log }: CatalogueFileDeps) {
  let work = Promise.resolve()

  async function readCli(): Promise<CodexCli | undefined> {
    const text = files && (await readIfThere(files.codexCliFile))
    return text === undefined ? undefined : codexCli.safeParse(parseJson(text)).data
  }

  async function updateAll({ codexModelsDir: folder }: CodexFiles): Promise<void> {
    const listed = models()
    // The account's own list is on its way. Codex would not start with an empty one.
    if (listed.some(({ model }) => model.source === 'seed')) return
    const [names, cli] = await Promise.all([nodeFs.readdir(folder).catch(() => []), readCli()])
    if (cli === undefined) return
    const current = fitCatalogue(renderCodexCatalogue(listed), cli)
    if (current.models.length === 0) return
    for (const name of names) if (name.endsWith('.json')) await update(join(folder, name), current)
  }

  async function update(path: string, current: CodexCatalogue): Promise<void> {
    const before = await readIfThere(path)
    if (before === undefined) return
    const catalogue = keepChosen(current, codexCatalogue.safeParse(parseJson(before)).data)
    const text = catalogueText(catalogue)
    if (text === before) return
    await replaceFile(nodeFs, path, text)
    log.info({ file: path, models: catalogue.models.length }, 'wrote the models for Codex CLI')
  }

  return {
    /** Call when the models may have changed. */
    follow(): void {
      if (files === undefined) return
      work = work
        .then(() => updateAll(files))
        .catch((error: unknown) => log.warn({ err: error }, 'the models for Codex CLI could not be written'))
    },
    /** Resolves when nothing is being written. */
    settled: () => work,
    codexCli: readCli,
  }
}

function readIfThere(path: string): Promise<string | undefined> {
  return nodeFs.readFile(path, 'utf8').catch(() => undefined)
}
