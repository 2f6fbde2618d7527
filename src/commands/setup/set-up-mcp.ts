import { mcpFormats } from '../../client-settings/mcp-entries.ts'
import type { McpCommand } from '../../client-settings/mcp-entries.ts'
import type { SnippetId } from '../../client-settings/snippets.ts'
import { clients } from '../../client-settings/target.ts'
import type { FileClientId } from '../../client-settings/target.ts'
import { visibleLines } from '../../terminal/visible.ts'
import { findClientFile } from '../clients/client-check.ts'
import { mcpFiles } from '../clients/client-settings.ts'
import { CommandFailure, exitCode } from '../shared/command.ts'
import type { CommandContext, ExitCode, SetupFlags } from '../shared/command.ts'
import { loadSettings } from '../shared/settings.ts'
import { readClientFile } from './client-file.ts'
import { changeClientSettings, requirePerson, undoSettings } from './settings-change.ts'
import { tryMcp } from './try-mcp.ts'

/** Adds `copilot-proxy mcp` to the MCP servers of a client, undoes that, or prints the settings. */
export async function setUpMcp(context: CommandContext, flags: SetupFlags, client: SnippetId): Promise<ExitCode> {
  if (!hasFile(client)) {
    const message = `setup --mcp is for ${Object.keys(mcpFormats).join(', ')}. In other clients, add the MCP server "copilot-proxy mcp".`
    throw new CommandFailure(exitCode.usage, message)
  }
  const { name } = clients[client]
  const format = mcpFormats[client]
  const command = await commandOf(context, flags)
  const path = await findClientFile(context, client, mcpFiles)
  if (flags.print) {
    context.stderr.write(visibleLines(`${name}: add this to ${path}:\n`))
    context.stdout.write(visibleLines(format.write('', format.wanted(command, {})) ?? ''))
    return exitCode.done
  }
  const file = await readClientFile(path, 'mcp-backup')
  if (flags.undo) {
    return undoSettings(context, flags, {
      file,
      format,
      url: '',
      nothing: `${name} does not have the MCP server copilot-proxy.`,
      done: `${name} no longer has the MCP server copilot-proxy (${path}).`,
    })
  }
  requirePerson(context, flags)
  const outcome = await changeClientSettings(context, flags, {
    file,
    format,
    wanted: command,
    url: '',
    command: `copilot-proxy setup ${client} --mcp`,
    notes: () => notesOf(command),
    already: `${name} already has the MCP server copilot-proxy (${path}).`,
    question: `Write this to ${path} and start the MCP server once?`,
    done: `${name} now has the MCP server copilot-proxy, with the tools of the folder that it is started in.`,
  })
  if (outcome.kind === 'ended') return outcome.code
  const trial = await tryMcp(context, command)
  if (trial.ok) {
    context.stderr.write(
      `The MCP server has ${trial.tools} tools. workspace.read-only and .agent-policy.yaml decide which files they may ` +
        'change and which commands they may run. To see the rules: copilot-proxy policy check\n',
    )
    return exitCode.done
  }
  throw new CommandFailure(
    exitCode.failed,
    `The settings were written, but the MCP server does not work: ${trial.detail}`,
  )
}

function hasFile(client: SnippetId): client is FileClientId {
  return Object.hasOwn(mcpFormats, client)
}

/** Variables that locate the configuration and the journals of changes. */
const passedVariables = ['COPILOT_PROXY_HOME', 'XDG_CONFIG_HOME', 'XDG_DATA_HOME'] as const

async function commandOf(context: CommandContext, flags: SetupFlags): Promise<McpCommand> {
  const { self, env } = context
  const { isNamed, configFile } = await loadSettings(context, flags.config)
  const passed = passedVariables.flatMap((name) => (env[name] ? [[name, env[name]] as const] : []))
  return { argv: [...self, 'mcp', ...(isNamed ? ['--config', configFile] : [])], env: Object.fromEntries(passed) }
}

function notesOf({ argv }: McpCommand): readonly string[] {
  if (!argv.some((part) => /[/\\]_npx[/\\]/.test(part))) return []
  return ['This copilot-proxy is in the npx cache, which npm may delete. Install it, then run this again.']
}
