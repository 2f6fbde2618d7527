import { networkInterfaces } from 'node:os'
import { entryFormats } from '../../client-settings/client-entries.ts'
import { clients, nativeDialect } from '../../client-settings/target.ts'
import type { ClientId, FileClientId, Target } from '../../client-settings/target.ts'
import { snippets, waitingClients } from '../../client-settings/snippets.ts'
import type { Snippet, SnippetId, WaitingClientId } from '../../client-settings/snippets.ts'
import { visible, visibleLines } from '../../terminal/visible.ts'
import { ensureDaemon, planDaemon, pickTarget, sketchTarget } from '../clients/target.ts'
import { clientNotes, findClientFile, sdkNotes } from '../clients/client-check.ts'
import { findStateFiles, findRunningDaemon } from '../background/background-daemon.ts'
import { requireCallerKey, daemonUrl, networkAddresses } from '../shared/find-daemon.ts'
import { CommandFailure, exitCode } from '../shared/command.ts'
import type { CommandContext, ExitCode, SetupFlags } from '../shared/command.ts'
import { loadSettings } from '../shared/settings.ts'
import type { LoadedSettings } from '../shared/settings.ts'
import { isOpenToOthers, readClientFile } from './client-file.ts'
import type { ClientFile } from './client-file.ts'
import { agreed, changeClientSettings, requirePerson, undoSettings, writeNotes } from './settings-change.ts'
import { noCatalogue, prepareCatalogue, removeUnusedCatalogue } from './codex-catalogue-file.ts'
import type { PreparedCatalogue } from './codex-catalogue-file.ts'
import { tryModel } from './try-model.ts'

/**
 * Makes a client use the proxy permanently, undoes that, or prints the settings of clients that have no settings file.
 */
export async function setup(context: CommandContext, flags: SetupFlags): Promise<ExitCode> {
  const { client } = flags
  if (isWaiting(client)) throw new CommandFailure(exitCode.failed, waitingClients[client])
  if (flags.mcp) return (await import('./set-up-mcp.ts')).setUpMcp(context, flags, client)
  if (flags.print) return print(context, flags, client)
  if (hasFile(client)) return flags.undo ? undo(context, flags, client) : setUp(context, flags, client)
  if (flags.undo) {
    const message = `setup does not write the settings of ${snippets[client].name}. Remove them where you entered them.`
    throw new CommandFailure(exitCode.usage, message)
  }
  return flags.dryRun ? print(context, flags, client) : printAndTry(context, flags, client)
}

function isWaiting(client: SnippetId | WaitingClientId): client is WaitingClientId {
  return Object.hasOwn(waitingClients, client)
}

function hasFile(client: SnippetId): client is FileClientId {
  return Object.hasOwn(entryFormats, client)
}

/** Prints the settings. Sends a test request only if the person agrees to it. */
async function printAndTry(context: CommandContext, flags: SetupFlags, client: SnippetId): Promise<ExitCode> {
  const settings = await loadSettings(context, flags.config)
  const sketch = await sketchTarget(context, settings, rulesFor(client), flags.model, { needsLogin: true })
  printSnippet(context, client, sketch)
  await writeStartHint(context, client, sketch)
  const { id } = sketch.chosen.main
  if (!context.interactive && !flags.yes) {
    context.stderr.write(`To send a test request: copilot-proxy setup ${client} --yes\n`)
    return exitCode.done
  }
  if (!(await agreed(context, flags, `Send one test request to ${id}?`))) return exitCode.done
  const target = await liveTarget(context, flags, rulesFor(client))
  return probe(context, client, target, '')
}

/** Starts nothing, and requests at most a list of models. */
async function print(context: CommandContext, flags: SetupFlags, client: SnippetId): Promise<ExitCode> {
  const settings = await loadSettings(context, flags.config)
  const target = await sketchTarget(context, settings, rulesFor(client), flags.model, { needsLogin: false })
  const { url, notes } = await callerAddress(context, settings, target.url)
  printSnippet(context, client, { ...target, url })
  writeNotes(context, notes)
  return exitCode.done
}

/** The URL for callers: the address of this machine on its network if the daemon listens there. */
async function callerAddress(
  context: CommandContext,
  { config }: LoadedSettings,
  url: string,
): Promise<{ readonly url: string; readonly notes: readonly string[] }> {
  const background = await findRunningDaemon(context, findStateFiles(context))
  const host = background?.url === url ? (background.flags.host ?? config.server.host) : config.server.host
  const [address, ...others] = networkAddresses(host, networkInterfaces())
  if (address === undefined) return { url, notes: [] }
  const also = ['127.0.0.1 on this machine', ...others].join(', ')
  const note = `copilot-proxy listens on all networks. The settings use the address ${address}; you can also use ${also}.`
  return { url: `http://${address}:${new URL(url).port || '80'}`, notes: [note] }
}

/** Clients that speak every API use opencode's choice of models. */
function rulesFor(client: SnippetId): ClientId {
  if (client === 'claude-desktop') return 'claude'
  return isClientId(client) ? client : 'opencode'
}

function isClientId(client: SnippetId): client is ClientId {
  return Object.hasOwn(clients, client)
}

function printSnippet(context: CommandContext, client: SnippetId, target: Target): void {
  const { stdout, stderr } = context
  const snippet: Snippet = snippets[client]
  const { name, instruction, note, text } = snippet
  stderr.write(`${name}: ${instruction}:\n`)
  // A placeholder instead of a required key, which is not printed.
  stdout.write(visibleLines(text(target.isKeyAsked ? { ...target, key: 'YOUR_KEY' } : target)))
  writeNotes(context, [...(note === undefined ? [] : [note]), ...sdkNotes(context, client, target)])
}

async function liveTarget(context: CommandContext, flags: SetupFlags, client: ClientId): Promise<Target> {
  const settings = await loadSettings(context, flags.config)
  const planned = await planDaemon(context, settings)
  const key = requireCallerKey(context, settings.config)
  const daemon = await ensureDaemon(context, settings, planned, flags.config)
  return pickTarget(context, client, daemon, key, flags.model)
}

async function setUp(context: CommandContext, flags: SetupFlags, client: FileClientId): Promise<ExitCode> {
  const settings = await loadSettings(context, flags.config)
  await planDaemon(context, settings)
  requirePerson(context, flags)
  const file = await readClientFile(await findClientFile(context, client))
  const found = flags.dryRun
    ? await sketchTarget(context, settings, client, flags.model, { needsLogin: true })
    : await liveTarget(context, flags, client)
  const catalogue =
    client === 'codex'
      ? await prepareCatalogue(context, flags, settings, { daemon: found, configFile: file.path })
      : noCatalogue
  try {
    return await writeSettings(context, flags, {
      client,
      settings,
      file,
      catalogue,
      target: { ...found, codexCatalogue: catalogue.path },
    })
  } finally {
    await catalogue.discard()
  }
}

interface Change {
  readonly client: FileClientId
  readonly settings: LoadedSettings
  readonly file: ClientFile
  readonly target: Target
  readonly catalogue: PreparedCatalogue
}

async function writeSettings(
  context: CommandContext,
  flags: SetupFlags,
  { client, settings, file, target, catalogue }: Change,
): Promise<ExitCode> {
  const { name } = clients[client]
  const outcome = await changeClientSettings(context, flags, {
    file,
    format: entryFormats[client],
    wanted: target,
    url: target.url,
    command: `copilot-proxy setup ${client}`,
    notes: async (text) => [
      ...movingNotes(settings, target),
      ...(await clientNotes(context, client, target.url, { path: file.path, text })),
      ...catalogue.notes,
    ],
    already: `${name} already uses copilot-proxy (${file.path}).`,
    question: `Write this to ${file.path} and send one test request to ${target.chosen.main.id}?`,
    done: `${name} now uses copilot-proxy with ${target.chosen.main.id}.`,
    prepare: catalogue.keep,
  })
  if (outcome.kind === 'ended') return outcome.code
  writeNotes(context, await exposedNotes(file, outcome.text, target))
  await writeStartHint(context, client, target)
  return probe(context, client, target, 'The settings were written. ')
}

async function undo(context: CommandContext, flags: SetupFlags, client: FileClientId): Promise<ExitCode> {
  const { name } = clients[client]
  const settings = await loadSettings(context, flags.config)
  const file = await readClientFile(await findClientFile(context, client))
  const result = await undoSettings(context, flags, {
    file,
    format: entryFormats[client],
    url: daemonUrl(settings.config.server),
    nothing: `${name} does not use copilot-proxy.`,
    done: `${name} no longer uses copilot-proxy (${file.path}).`,
  })
  if (client === 'codex' && !flags.dryRun) await removeUnusedCatalogue(settings, file.path)
  return result
}

/** Writes how to keep copilot-proxy running while the client is used. */
async function writeStartHint(context: CommandContext, client: SnippetId, { url }: Target): Promise<void> {
  const daemon = await findRunningDaemon(context, findStateFiles(context))
  if (daemon?.starter === 'service' && daemon.url === url) return
  const hasServices = context.platform === 'linux' || context.platform === 'darwin'
  const how = hasServices
    ? 'To start it with your session: copilot-proxy service install'
    : 'To start it in the background: copilot-proxy start'
  context.stderr.write(`copilot-proxy must be running when you use ${snippets[client].name}. ${how}\n`)
}

/** A client's settings outlive a daemon on a temporary port. */
function movingNotes({ config }: LoadedSettings, { url }: Target): readonly string[] {
  if (url === daemonUrl(config.server)) return []
  const port = new URL(url).port || '80'
  return [`copilot-proxy now runs at ${url}, but its configuration has another address. Set server.port to ${port}.`]
}

/** Warns about a file that now holds a key and is readable by others. */
async function exposedNotes({ path }: ClientFile, text: string, target: Target): Promise<readonly string[]> {
  if (!target.isKeyAsked || !text.includes(target.key) || !(await isOpenToOthers(path))) return []
  return [`Other users can read ${path}, which now contains a key. Run: chmod 600 ${path}`]
}

/** Sends one request as the client would. */
async function probe(
  context: CommandContext,
  client: SnippetId,
  target: Target,
  consolation: string,
): Promise<ExitCode> {
  const { main } = target.chosen
  const { dialect: named } = snippets[client]
  const dialect = named === 'native' ? nativeDialect(main) : named
  context.stderr.write(visibleLines(`Sending a test request to ${main.id} …\n`))
  const trial = await tryModel(context, target, dialect, main.id)
  if (trial.ok) {
    const answer = visible(`${trial.model} answered "${beginning(trial.text)}" after ${trial.tookMs} ms.`)
    context.stderr.write(`${answer}\n`)
    return exitCode.done
  }
  context.stderr.write(
    visibleLines(`The test request failed. ${trial.problem}\n${consolation}Find the cause: copilot-proxy doctor\n`),
  )
  return exitCode.failed
}

/** The first characters of an answer; splits no surrogate pair. */
function beginning(text: string): string {
  const characters = Array.from(text.trim())
  return characters.length > 80 ? `${characters.slice(0, 80).join('')}…` : characters.join('')
}
