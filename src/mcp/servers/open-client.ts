import { pathToFileURL } from 'node:url'
import {
  Client,
  ProtocolError,
  type Progress,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
  StreamableHTTPClientTransport,
  type Transport,
} from '@modelcontextprotocol/client'
import { z } from 'zod'
import type { Session } from '../../tools/session.ts'
import type { ToolProgress } from '../../tools/tool.ts'
import { promptResult, resourceResult, serverResult } from './call-result.ts'
import { readableFetch } from './readable-fetch.ts'
import { invalidAnswer } from './read-message.ts'
import { createStdioTransport, type StdioProgram } from './stdio-transport.ts'

export type Place =
  | { readonly kind: 'program'; readonly program: StdioProgram }
  | { readonly kind: 'address'; readonly url: string; readonly headers: Readonly<Record<string, string>> }
  /** Another program of this machine holds the connection to the server. */
  | { readonly kind: 'relay'; readonly transport: Transport }

export interface ClientDeps {
  readonly place: Place
  readonly session: Session
  readonly version: string
  /** Its abort ends the start. */
  readonly signal: AbortSignal
  readonly onClose: () => void
  readonly onListChanged: () => void
  readonly onError: (error: Error) => void
}

/** The fields of a resource, a template of resources or a prompt that this program uses. */
const entry = z.looseObject({
  name: z.string(),
  uri: z.string().nullish(),
  uriTemplate: z.string().nullish(),
  description: z.string().nullish(),
  arguments: z
    .array(
      z.looseObject({
        name: z.string(),
        description: z.string().nullish(),
        required: z.boolean().nullish().catch(false),
      }),
    )
    .nullish(),
})

interface ServerEntry {
  readonly name: string
  readonly description?: string
}

interface ServerResource extends ServerEntry {
  /** Of a template: with names in braces, as RFC 6570 has them. */
  readonly uri?: string
}

interface ServerPrompt extends ServerEntry {
  readonly arguments?: readonly (ServerEntry & { readonly required?: boolean })[]
}

export interface ServerLists {
  readonly tools: readonly unknown[]
  readonly resources: readonly ServerResource[]
  readonly templates: readonly ServerResource[]
  readonly prompts: readonly ServerPrompt[]
}

export interface OpenClient {
  readonly lists: () => Promise<ServerLists>
  readonly call: (
    name: string,
    args: unknown,
    how: { readonly signal: AbortSignal; readonly progress: (part: ToolProgress) => void },
  ) => Promise<z.infer<typeof serverResult>>
  readonly readResource: (uri: string, signal: AbortSignal) => Promise<z.infer<typeof resourceResult>>
  readonly getPrompt: (
    name: string,
    args: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ) => Promise<z.infer<typeof promptResult>>
  /**
   * Whether the error means that the server no longer knows the session, so it has not handled the request and needs a new
   * session (MCP 2025-11-25, transports, session management: 404).
   */
  readonly isSessionLost: (error: unknown) => boolean
  /** Closes the connection when the calls in progress have ended. */
  readonly retire: () => void
  readonly close: () => Promise<void>
}

/** Time limit of start and handshake. `npx` and `uvx` may download packages meanwhile. Ms. */
const connectMs = 60_000
const listMs = 30_000
const maxPages = 20
const maxEntries = 200
const maxText = 1000
/** Practically unlimited: the registry limits the time of a call, and pauses while an approval is pending. Ms. */
const callMs = 24 * 60 * 60 * 1000
/** Maximum number of progress reports of one call, because a server may send any number. */
const maxReports = 500

/** Does not check structured results: the schema comes from the server, and its patterns may take exponential time. */
const noValidator = {
  getValidator(): never {
    throw new Error('results are asked for with a schema of ours')
  },
}

/** Connects to a server. Import this module only when a server starts, because it loads the SDK. */
export async function openClient(deps: ClientDeps): Promise<OpenClient> {
  const { session } = deps
  // Offer only roots, so that the SDK answers sampling and elicitation with "method not found": a server must not spend the
  // user's quota with its own prompts, and no person is present to answer its questions.
  const client = new Client(
    { name: 'copilot-proxy', version: deps.version },
    { capabilities: { roots: {} }, jsonSchemaValidator: noValidator },
  )
  client.setRequestHandler('roots/list', () => ({
    roots: [{ uri: pathToFileURL(session.folder.root).href, name: session.name }],
  }))
  client.setNotificationHandler('notifications/tools/list_changed', deps.onListChanged)
  client.setNotificationHandler('notifications/resources/list_changed', deps.onListChanged)
  client.setNotificationHandler('notifications/prompts/list_changed', deps.onListChanged)
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- the SDK's class is no EventTarget
  client.onclose = deps.onClose
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- the SDK's class is no EventTarget
  client.onerror = deps.onError
  const transport = createTransport(deps.place)
  try {
    await client.connect(transport, { timeout: connectMs, signal: deps.signal })
  } catch (error) {
    await transport.close()
    throw error
  }

  async function list(method: string, key: string, max: number): Promise<readonly unknown[]> {
    const page = z.looseObject({ [key]: z.array(z.unknown()), nextCursor: z.string().nullish() })
    const found: unknown[] = []
    let cursor: string | undefined
    for (let pages = 0; pages < maxPages && found.length < max; pages += 1) {
      const params = cursor === undefined ? {} : { cursor }
      const answer = await client.request({ method, params }, page, { timeout: listMs, signal: deps.signal })
      const items = answer[key]
      if (Array.isArray(items)) found.push(...items)
      const next = answer['nextCursor']
      if (typeof next !== 'string') break
      cursor = next
    }
    return found.slice(0, max)
  }

  async function entries<Entry>(method: string, key: string, read: (found: Found) => Entry): Promise<readonly Entry[]> {
    const found = await list(method, key, maxEntries).catch(() => [])
    return found.flatMap((value) => {
      const parsed = entry.safeParse(value)
      return parsed.success ? [read(parsed.data)] : []
    })
  }

  let pending = 0
  let isRetired = false
  function closeIfRetired(): void {
    if (isRetired && pending === 0) client.close().catch(deps.onError)
  }

  async function inCall<Result>(act: () => Promise<Result>): Promise<Result> {
    pending += 1
    try {
      return await act()
    } finally {
      pending -= 1
      closeIfRetired()
    }
  }

  return {
    async lists() {
      const has = client.getServerCapabilities()
      const [tools, resources, templates, prompts] = await Promise.all([
        has?.tools === undefined ? [] : list('tools/list', 'tools', maxListed),
        has?.resources === undefined ? [] : entries('resources/list', 'resources', toResource),
        has?.resources === undefined ? [] : entries('resources/templates/list', 'resourceTemplates', toResource),
        has?.prompts === undefined ? [] : entries('prompts/list', 'prompts', toPrompt),
      ])
      return { tools, resources, templates, prompts }
    },
    call(name, args, { signal, progress }) {
      let reports = 0
      const onprogress = ({ progress: done, total, message }: Progress): void => {
        reports += 1
        if (reports > maxReports) return
        progress({ text: (message ?? `${done}${total === undefined ? '' : ` of ${total}`}`).slice(0, maxText) })
      }
      const request = { method: 'tools/call', params: { name, arguments: args } }
      return inCall(() => client.request(request, serverResult, { signal, timeout: callMs, onprogress }))
    },
    readResource: (uri, signal) =>
      inCall(() =>
        client.request({ method: 'resources/read', params: { uri } }, resourceResult, { signal, timeout: callMs }),
      ),
    getPrompt: (name, args, signal) =>
      inCall(() =>
        client.request({ method: 'prompts/get', params: { name, arguments: args } }, promptResult, {
          signal,
          timeout: callMs,
        }),
      ),
    isSessionLost: (error) =>
      hasLostSession(transport, error) ||
      (deps.place.kind === 'relay' && error instanceof ProtocolError && error.code === lostSession),
    retire() {
      isRetired = true
      closeIfRetired()
    },
    close: () => client.close(),
  }
}

/** The code of `error` in the answer of a relay to a request that the server has refused because it has lost the session. */
export const lostSession = -32_098

/** Whether a server over HTTP has refused a message because it does not know the session. */
export function hasLostSession({ sessionId }: Transport, error: unknown): boolean {
  // The reference servers answer 400 instead of 404: "No valid session ID provided" (server-everything 2026.8.31).
  return (
    error instanceof SdkHttpError &&
    sessionId !== undefined &&
    (error.status === 404 || (error.status === 400 && /session/i.test(error.message)))
  )
}

type Found = z.infer<typeof entry>

function toEntry({ name, description }: Pick<Found, 'name' | 'description'>): ServerEntry {
  return { name: short(name), ...(description && { description: short(description) }) }
}

function toResource({ uri, uriTemplate, ...found }: Found): ServerResource {
  const address = uri ?? uriTemplate
  return { ...toEntry(found), ...(address && { uri: short(address) }) }
}

function toPrompt({ arguments: given, ...found }: Found): ServerPrompt {
  const args = given?.slice(0, maxEntries).map(toArgument) ?? []
  return { ...toEntry(found), ...(args.length > 0 && { arguments: args }) }
}

function toArgument({ required, ...found }: NonNullable<Found['arguments']>[number]) {
  return { ...toEntry(found), ...(required && { required }) }
}

/** One more than `read-tools.ts` accepts, so that it reports that it has left out tools. */
const maxListed = 201

function short(text: string): string {
  return text.slice(0, maxText)
}

/** Returns what the server itself has answered, in a clause, so the connection works. Undefined for another failure. */
export function answerOf(error: unknown): string | undefined {
  if (isInvalid(error)) return notMcp
  return error instanceof ProtocolError ? `it refused the call: ${reasonOf(error)}` : undefined
}

const notMcp = 'its answer is not valid MCP'

function isInvalid(error: unknown): boolean {
  if (error instanceof ProtocolError) return error.code === invalidAnswer
  return (error instanceof SdkError && error.code === SdkErrorCode.InvalidResult) || error instanceof z.core.$ZodError
}

/** Describes a failure of the SDK or the network in a clause without an address. */
export function reasonOf(error: unknown): string {
  if (isInvalid(error)) return notMcp
  if (error instanceof SdkError && error.message.includes('timed out')) return 'it did not answer in time'
  if (!(error instanceof Error)) return 'the connection failed'
  const { cause } = error
  if (cause instanceof Error && 'code' in cause) return `the connection failed (${String(cause.code)})`
  if ('code' in error && error.code === 'EPIPE') return 'it closed its input'
  if ('code' in error && error.code === 'ENOENT') return 'its program or its folder does not exist'
  return error.message.slice(0, maxText)
}

export function createTransport(place: Place): Transport {
  if (place.kind === 'relay') return place.transport
  if (place.kind === 'program') return createStdioTransport(place.program)
  return new StreamableHTTPClientTransport(new URL(place.url), {
    requestInit: { headers: { ...place.headers } },
    fetch: readableFetch(globalThis.fetch),
  })
}
