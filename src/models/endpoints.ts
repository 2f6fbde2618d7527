/** Upstream paths below a provider's base URL, as `supported_endpoints` writes them. */
export const chatEndpoint = '/chat/completions'
export const embeddingsEndpoint = '/embeddings'
export const responsesEndpoint = '/responses'
export const messagesEndpoint = '/v1/messages'

/** By caller dialect, the upstream path that needs no translation. */
const ownEndpoint = { chat: chatEndpoint, responses: responsesEndpoint, messages: messagesEndpoint } as const
type RoutedDialect = keyof typeof ownEndpoint

/** By caller dialect, the upstream dialect that serves it; null: none does. */
export type DialectRoutes = Readonly<Record<RoutedDialect, RoutedDialect | null>>

export interface EndpointAsk {
  /** The upstream path of the caller's own dialect; undefined for a dialect that only callers speak. */
  readonly callerPath: string | undefined
  /** `copilot.upstream-dialect`: `chat` prefers chat wherever the model has it. */
  readonly setting: 'auto' | 'chat'
  /** The upstream paths that this route can encode for. */
  readonly spoken: readonly string[]
}

/**
 * The upstream path of a request: the caller's own dialect, which needs no translation, else chat, responses or messages.
 * Undefined if the model has none that the route speaks.
 */
export function chooseEndpoint(model: { readonly endpoints: readonly string[] }, ask: EndpointAsk): string | undefined {
  const own = ask.callerPath === undefined ? [] : [ask.callerPath]
  const fallbacks = [chatEndpoint, responsesEndpoint, messagesEndpoint]
  const order = ask.setting === 'chat' ? [chatEndpoint, ...own, ...fallbacks] : [...own, ...fallbacks]
  return order.find((path) => model.endpoints.includes(path) && ask.spoken.includes(path))
}

export function dialectRoutes(
  model: { readonly endpoints: readonly string[] },
  setting: EndpointAsk['setting'],
): DialectRoutes {
  const routeOf = (callerPath: string): RoutedDialect | null => {
    switch (chooseEndpoint(model, { callerPath, setting, spoken: Object.values(ownEndpoint) })) {
      case chatEndpoint:
        return 'chat'
      case responsesEndpoint:
        return 'responses'
      case messagesEndpoint:
        return 'messages'
      default:
        return null
    }
  }
  return { chat: routeOf(chatEndpoint), responses: routeOf(responsesEndpoint), messages: routeOf(messagesEndpoint) }
}
