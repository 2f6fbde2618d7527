import { createHash } from 'node:crypto'
import * as nodeFs from 'node:fs/promises'
import { join } from 'node:path'
import { removeIfThere, temporaryName } from '../../auth/records/atomic-file.ts'
import type { Target } from '../../client-settings/target.ts'
import { tomlStrings } from '../../client-settings/toml.ts'
import { writeCodexCatalogue } from '../clients/codex-catalogue.ts'
import { findProgram } from '../clients/program-file.ts'
import type { CommandContext, SetupFlags } from '../shared/command.ts'
import type { LoadedSettings } from '../shared/settings.ts'

/** The models for Codex CLI, in a file that Codex has checked and that is not in place yet. */
export interface PreparedCatalogue {
  /** Where they belong; undefined: Codex gets none. */
  readonly path: string | undefined
  /** Sentences. */
  readonly notes: readonly string[]
  /** Puts the file in place. */
  readonly keep: () => Promise<void>
  /** Removes the file unless it is in place. */
  readonly discard: () => Promise<void>
}

export const noCatalogue: PreparedCatalogue = {
  path: undefined,
  notes: [],
  keep: () => Promise.resolve(),
  discard: () => Promise.resolve(),
}

/** The catalogue that this configuration of Codex names. Each configuration has its own, so that undoing one leaves the others whole. */
function catalogueFor({ codexModelsDir }: LoadedSettings, configFile: string): string {
  const name = createHash('sha256').update(configFile).digest('hex').slice(0, 16)
  return join(codexModelsDir, `${name}.json`)
}

/** @param configFile of Codex */
export async function prepareCatalogue(
  context: CommandContext,
  { dryRun }: SetupFlags,
  settings: LoadedSettings,
  { daemon, configFile }: { readonly daemon: Target; readonly configFile: string },
): Promise<PreparedCatalogue> {
  const path = catalogueFor(settings, configFile)
  const program = await findProgram('codex', context)
  if (program === undefined) return noCatalogue
  if (dryRun) return { ...noCatalogue, path }
  await nodeFs.mkdir(settings.codexModelsDir, { recursive: true, mode: 0o700 })
  const candidate = temporaryName(path)
  const chosen = daemon.chosen.main.id
  const problem = await writeCodexCatalogue(context, { daemon, chosen, files: settings, program, path: candidate })
  if (problem !== undefined) {
    return { ...noCatalogue, notes: [`Codex CLI keeps its own list of models: ${problem}.`] }
  }
  return {
    path,
    notes: [],
    keep: () => nodeFs.rename(candidate, path),
    discard: async () => void (await removeIfThere(nodeFs, candidate)),
  }
}

/** Removes the models of this configuration of Codex, unless it still names them. */
export async function removeUnusedCatalogue(settings: LoadedSettings, configFile: string): Promise<void> {
  const path = catalogueFor(settings, configFile)
  const text = await nodeFs.readFile(configFile, 'utf8').catch(() => '')
  const named = tomlStrings(text)
  if (named === undefined || named.get('model_catalog_json') === path) return
  await removeIfThere(nodeFs, path)
}
