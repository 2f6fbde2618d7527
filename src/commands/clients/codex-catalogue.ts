import * as nodeFs from 'node:fs/promises'
import { removeIfThere, replaceFile } from '../../auth/records/atomic-file.ts'
import { catalogueText, codexCatalogue, codexCli, fitCatalogue, markChosen } from '../../models/codex-catalogue.ts'
import type { CodexCatalogue, CodexCli } from '../../models/codex-catalogue.ts'
import { visible } from '../../terminal/visible.ts'
import type { CommandContext } from '../shared/command.ts'
import type { DaemonAddress } from '../shared/find-daemon.ts'
import type { UserFiles } from '../shared/settings.ts'
import { getterAt, modelPath } from '../shared/view.ts'
import { CodexProblem, openCodexProgram } from './codex-program.ts'
import type { CodexProgram } from './codex-program.ts'
import { parseJson } from '../../json/json.ts'

interface CatalogueOrder {
  readonly daemon: DaemonAddress
  /** The model to start with, which the daemon may hide from its list. */
  readonly chosen: string
  readonly files: Pick<UserFiles, 'dataDir' | 'codexCliFile'>
  /** Codex CLI. */
  readonly program: string
  /** The file to write. */
  readonly path: string
}

/**
 * Writes the daemon's models for Codex CLI, and lets Codex check the file. A catalogue that it does not take would keep it
 * from starting.
 * @returns why there is no file, as the end of a sentence; undefined: Codex takes it
 */
export async function writeCodexCatalogue(context: CommandContext, order: CatalogueOrder): Promise<string | undefined> {
  const { daemon, chosen, files, program, path } = order
  const codex = openCodexProgram(context, program)
  try {
    const facts = await findCodexFacts(codex, files)
    const catalogue = fitCatalogue(await fetchModels(context, daemon, { version: facts.version, chosen }), facts)
    await nodeFs.writeFile(path, catalogueText(catalogue), { mode: 0o600 })
    const read = new Set((await codex.readCatalogue(path)).models.map(({ slug }) => slug))
    if (catalogue.models.every(({ slug }) => read.has(slug))) return undefined
    throw new CodexProblem('codex debug models did not list all of them')
  } catch (error) {
    context.signal.throwIfAborted()
    await removeIfThere(nodeFs, path).catch(() => {})
    return visible(error instanceof Error ? error.message : String(error))
  }
}

/** The facts in the file if they are those of this version, else those of the program, which are kept there. */
async function findCodexFacts(
  codex: CodexProgram,
  { dataDir, codexCliFile }: CatalogueOrder['files'],
): Promise<CodexCli> {
  const [version, text] = await Promise.all([
    codex.version(),
    nodeFs.readFile(codexCliFile, 'utf8').catch(() => undefined),
  ])
  const kept = text === undefined ? undefined : codexCli.safeParse(parseJson(text)).data
  if (kept?.version === version) return kept
  const facts = await codex.inspect(version)
  await nodeFs.mkdir(dataDir, { recursive: true, mode: 0o700 })
  await replaceFile(nodeFs, codexCliFile, `${JSON.stringify(facts)}\n`)
  return facts
}

interface Wanted {
  readonly version: string
  readonly chosen: string
}

/** The models of the daemon's list, and the chosen one. */
async function fetchModels(
  context: CommandContext,
  daemon: DaemonAddress,
  { version, chosen }: Wanted,
): Promise<CodexCatalogue> {
  const { models } = await fetchCatalogue(context, daemon, '/v1/models', version)
  if (models.some(({ slug }) => slug === chosen)) return { models }
  const unlisted = await fetchCatalogue(context, daemon, modelPath(chosen), version)
  return { models: [...models, ...unlisted.models.map(markChosen)] }
}

async function fetchCatalogue(context: CommandContext, daemon: DaemonAddress, resource: string, version: string) {
  const path = `${resource}?client_version=${encodeURIComponent(version)}`
  return getterAt(context, daemon)(path, codexCatalogue)
}

/**
 * Whether Codex CLI takes the catalogue in this file.
 * @param program undefined: it is not installed, and only the form is checked
 * @returns the end of a sentence about the file; undefined: it does
 */
export async function findCatalogueProblem(
  context: CommandContext,
  path: string,
  program: string | undefined,
): Promise<string | undefined> {
  const text = await nodeFs.readFile(path, 'utf8').catch(() => undefined)
  if (text === undefined) return 'does not exist or cannot be read'
  if (!codexCatalogue.safeParse(parseJson(text)).success) return 'holds no models'
  if (program === undefined) return undefined
  try {
    await openCodexProgram(context, program).readCatalogue(path)
    return undefined
  } catch (error) {
    if (error instanceof CodexProblem) return `is refused: ${visible(error.message)}`
    throw error
  }
}
