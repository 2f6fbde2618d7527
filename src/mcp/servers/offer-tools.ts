import { identify } from '../../tools/foreign-tools.ts'
import { promptToolName, resourceToolName } from '../../tools/offer-names.ts'
import type { Tool, ToolContext } from '../../tools/tool.ts'
import { ToolError } from '../../workspace/tool-error.ts'
import { argumentsOf } from './prompt-arguments.ts'
import { trustedBy, type ServerConnection, type ServerOffers } from './server-connection.ts'

type Connections = ReadonlyMap<string, ServerConnection>

/** The longest address of a resource, and the longest arguments of a prompt. Characters. */
const maxUri = 2000
const maxText = 64 * 1024

/**
 * Returns a function that gives the tools for what the servers of a session offer besides tools: resources and prompts. None where
 * no server offers any. The same list as long as the servers offer the same, because checking arguments compiles their schemas.
 */
export function createOfferTools(): (connections: Connections) => readonly Tool[] {
  const made = new WeakMap<Connections, { readonly of: readonly ServerOffers[]; readonly tools: readonly Tool[] }>()
  return (connections) => {
    const of = Array.from(connections.values(), ({ offers }) => offers())
    const before = made.get(connections)
    if (before?.of.length === of.length && before.of.every((each, at) => each === of[at])) return before.tools
    const tools = [...resourceTools(connections), ...promptTools(connections)]
    made.set(connections, { of, tools })
    return tools
  }
}

/** What the arguments of a call name. A server that is gone by then is one that nothing can be asked. */
function connectionOf(connections: Connections, server: string): ServerConnection {
  const connection = connections.get(server)
  if (connection !== undefined) return connection
  throw new ToolError({ kind: 'failed', detail: `There is no MCP server ${JSON.stringify(server)}.` })
}

function resourceTools(connections: Connections): readonly Tool[] {
  const servers = [...connections].flatMap(([name, { offers }]) => {
    const { resources, templates } = offers()
    return resources.length + templates.length === 0 ? [] : [name]
  })
  if (servers.length === 0) return []
  const server = { type: 'string', enum: servers, description: 'Name of the MCP server.' }
  const list = {
    name: 'mcp.resources.list',
    description: 'Lists the resources of MCP servers, and the templates of addresses: {name} is for you to fill in.',
    parameters: { type: 'object', properties: { server }, additionalProperties: false },
    effect: 'read',
    run: async (args: { readonly server?: string }) => ({
      servers: servers
        .filter((name) => args.server === undefined || args.server === name)
        .map((name) => {
          const { resources, templates } = connectionOf(connections, name).offers()
          return { server: name, resources, templates }
        }),
    }),
  } satisfies Tool
  const read = {
    name: resourceToolName,
    description: 'Reads a resource of an MCP server: text, or an image.',
    parameters: {
      type: 'object',
      properties: { server, uri: { type: 'string', minLength: 1, maxLength: maxUri } },
      required: ['server', 'uri'],
      additionalProperties: false,
    },
    effect: 'read',
    run: (args: { readonly server: string; readonly uri: string }, context: ToolContext) =>
      connectionOf(connections, args.server).readResource(args.uri, context),
  } satisfies Tool
  return [
    { ...list, choose: () => ({ ...list, provider: 'MCP servers', asks: 'never' }) },
    {
      ...read,
      choose(args: Parameters<typeof read.run>[0]) {
        const { settings, offers } = connectionOf(connections, args.server)
        // An address that the server lists tells it nothing. One that the model makes up may contain what it has read.
        const isListed = offers().resources.some(({ uri }) => uri === args.uri)
        return { ...read, ...programOf(args.server, settings, isListed || settings.trust === true) }
      },
    },
  ]
}

function promptTools(connections: Connections): readonly Tool[] {
  const prompts = new Map<string, { readonly server: string; readonly prompt: ServerOffers['prompts'][number] }>(
    [...connections].flatMap(([server, { offers }]) =>
      offers().prompts.map((prompt) => [`${server}:${prompt.name}`, { server, prompt }] as const),
    ),
  )
  if (prompts.size === 0) return []
  const get = {
    name: promptToolName,
    description: 'Gets a prompt of an MCP server with its arguments filled in.',
    parameters: {
      type: 'object',
      properties: {
        prompt: { type: 'string', enum: [...prompts.keys()], description: 'The server and the name of the prompt.' },
        arguments: { type: 'object', additionalProperties: { type: 'string' } },
        text: {
          type: 'string',
          maxLength: maxText,
          description: 'The arguments as a person types them: values in order, or name=value.',
        },
      },
      required: ['prompt'],
      additionalProperties: false,
    },
    effect: 'read',
    async run(args: PromptArgs, context: ToolContext) {
      const { server, prompt } = promptOf(args)
      const values = args.arguments ?? argumentsOf(args.text ?? '', prompt.arguments ?? [])
      return connectionOf(connections, server).getPrompt(prompt.name, values, context)
    },
  } satisfies Tool

  function promptOf({ prompt }: PromptArgs) {
    const found = prompts.get(prompt)
    if (found === undefined) throw new ToolError({ kind: 'failed', detail: `There is no prompt ${prompt}.` })
    return found
  }

  return [
    {
      ...get,
      choose(args: PromptArgs) {
        const { server } = promptOf(args)
        // Its arguments are words of the person: models do not get this tool.
        return { ...get, ...programOf(server, connectionOf(connections, server).settings, true), asks: 'never' }
      },
    },
  ]
}

interface PromptArgs {
  readonly prompt: string
  readonly arguments?: Readonly<Record<string, string>>
  readonly text?: string
}

/** @param isQuiet whether a person is asked only after the run has read a secret */
function programOf(server: string, settings: ServerConnection['settings'], isQuiet: boolean) {
  const timeoutSeconds = settings['timeout-seconds']
  return {
    provider: server,
    ...(timeoutSeconds !== undefined && { timeoutMs: timeoutSeconds * 1000 }),
    identity: identify('offers', server, settings),
    trustedBy: trustedBy(server, settings),
    asks: isQuiet ? 'after-secret' : 'always',
  } as const
}
