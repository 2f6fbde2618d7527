import { canCarry, type RouteNeeds } from '../translate/engine/media/route-limits.ts'
import type { Model } from './model.ts'

/** Upstream paths below a provider's base URL, as `supported_endpoints` writes them. */
export const chatEndpoint = '/chat/completions'
export const embeddingsEndpoint = '/embeddings'
export const responsesEndpoint = '/responses'
export const messagesEndpoint = '/v1/messages'
export const imagesEndpoint = '/v1/images/generations'
export const imageEditsEndpoint = '/v1/images/edits'
/** Upstream's real path names the model (`/v1/engines/ID/completions`), and upstream lists none. */
export const completionsEndpoint = '/completions'

/** By caller dialect, the upstream path that needs no translation. */
const ownEndpoint = { chat: chatEndpoint, responses: responsesEndpoint, messages: messagesEndpoint } as const
type RoutedDialect = keyof typeof ownEndpoint

/** By caller dialect, the upstream dialect that serves it; null: none does. */
export type DialectRoutes = Readonly<Record<RoutedDialect, RoutedDialect | null>>

export interface EndpointAsk {
  /** The upstream path of the caller's own dialect; undefined for a dialect that only callers speak. */
  readonly callerPath: string | undefined
  /** `copilot.upstream-dialect`: `chat` prefers chat wherever the model has it and chat can carry the request. */
  readonly setting: 'auto' | 'chat'
  /** The upstream paths that this route can encode for. */
  readonly spoken: readonly string[]
  /** Absent: any route can carry the request. */
  readonly needs?: RouteNeeds | undefined
}

/**
 * The upstream path of a request: the caller's own dialect, which needs no translation, else the first in the order of
 * GitHub's own clients (docs/copilot-wire.md, "Routes"). A path that can carry the request comes before one that cannot.
 * Undefined if the model has none that the route speaks.
 */
export function chooseEndpoint(model: Model, { callerPath, setting, spoken, needs }: EndpointAsk): string | undefined {
  const own = callerPath === undefined ? [] : [callerPath]
  const order = [...own, responsesEndpoint, messagesEndpoint, chatEndpoint]
  const usable = order.filter((path) => model.endpoints.includes(path) && spoken.includes(path))
  const carries = (path: string): boolean => {
    const dialect = dialectOf(path)
    return needs === undefined || dialect === undefined || canCarry(dialect, needs, model)
  }
  const preferred = setting === 'chat' ? usable.toSorted((a, b) => rankAfterChat(a) - rankAfterChat(b)) : usable
  return preferred.find(carries) ?? preferred[0]
}

/** Sorts chat first and leaves the others in their order. */
function rankAfterChat(path: string): number {
  return path === chatEndpoint ? 0 : 1
}

function dialectOf(path: string | undefined): RoutedDialect | undefined {
  switch (path) {
    case chatEndpoint:
      return 'chat'
    case responsesEndpoint:
      return 'responses'
    case messagesEndpoint:
      return 'messages'
    default:
      return undefined
  }
}

export function dialectRoutes(model: Model, setting: EndpointAsk['setting']): DialectRoutes {
  const routeOf = (callerPath: string): RoutedDialect | null =>
    dialectOf(chooseEndpoint(model, { callerPath, setting, spoken: Object.values(ownEndpoint) })) ?? null
  return { chat: routeOf(chatEndpoint), responses: routeOf(responsesEndpoint), messages: routeOf(messagesEndpoint) }
}
