import { claudeFormat, jsonFormat } from './client-entries.ts'
import type { EntryFormat } from './client-entries.ts'
import { providerName } from './target.ts'
import type { FileClientId } from './target.ts'
import { isOddlyWritten, removeTomlTable, setTomlTable, tomlRoot, tomlTable } from './toml.ts'
import type { TomlPairs } from './toml.ts'

/** The program that a client starts as an MCP server. */
export interface McpCommand {
  readonly argv: readonly [string, ...string[]]
  /** Clients pass only few variables of their own. */
  readonly env: Readonly<Record<string, string>>
}

type McpFormat = EntryFormat<McpCommand>

const areOurs: McpFormat['areOurs'] = ({ server }) => server !== undefined

const claude: McpFormat = {
  ...claudeFormat({ server: ['mcpServers', providerName] }),
  wanted: ({ argv: [command, ...args], env }) => ({ server: JSON.stringify({ command, args, ...filled('env', env) }) }),
  areOurs,
}

const opencode: McpFormat = {
  ...jsonFormat({ $schema: ['$schema'], server: ['mcp', providerName] }),
  wanted: ({ argv, env }, present) => ({
    // opencode adds it by itself.
    $schema: present['$schema'] ?? '"https://opencode.ai/config.json"',
    server: JSON.stringify({ type: 'local', command: argv, enabled: true, ...filled('environment', env) }),
  }),
  areOurs,
}

const codexTable = ['mcp_servers', providerName]

const codex: McpFormat = {
  read(text) {
    if (tomlRoot(text) === undefined || isOddlyWritten(text, codexTable)) return undefined
    const table = tomlTable(text, codexTable)
    return { server: table && JSON.stringify(table) }
  },
  write(text, { server }) {
    if (server === undefined) return removeTomlTable(text, codexTable)
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- `read` and `wanted` make it of such pairs
    return setTomlTable(text, codexTable, JSON.parse(server) as TomlPairs)
  },
  wanted({ argv: [command, ...args], env }) {
    const variables = Object.entries(env).map(([name, value]) => `${name} = ${JSON.stringify(value)}`)
    return {
      server: JSON.stringify({
        command: JSON.stringify(command),
        args: `[${args.map((arg) => JSON.stringify(arg)).join(', ')}]`,
        ...(variables.length > 0 && { env: `{ ${variables.join(', ')} }` }),
      }),
    }
  },
  areOurs,
}

/** Settings of MCP servers, by client. */
export const mcpFormats: Readonly<Record<FileClientId, McpFormat>> = { claude, codex, opencode }

function filled(name: string, env: McpCommand['env']): object {
  return Object.keys(env).length === 0 ? {} : { [name]: env }
}
