/** Upstream paths below a provider's base URL, as `supported_endpoints` writes them. */
export const chatEndpoint = '/chat/completions'
export const embeddingsEndpoint = '/embeddings'
export const responsesEndpoint = '/responses'
export const messagesEndpoint = '/v1/messages'

/** The dialects of a caller, each with the upstream path that needs no translation. */
const ownEndpoint = { chat: chatEndpoint, responses: responsesEndpoint, messages: messagesEndpoint } as const
type RoutedDialect = keyof typeof ownEndpoint

/** Which upstream dialect serves a caller of each dialect; null where none does. */
export type DialectRoutes = Readonly<Record<RoutedDialect, RoutedDialect | null>>

/** What decides the upstream dialect of a request, apart from the model. */
export interface EndpointAsk {
  /** The upstream path of the caller's own dialect. */
  readonly callerPath: string
  /** `copilot.upstream-dialect`: `chat` prefers chat wherever the model has it. */
  readonly setting: 'auto' | 'chat'
  /** The upstream paths this route can encode for. */
  readonly spoken: readonly string[]
}

/**
 * The upstream path a request takes: the caller's own dialect first, so that most requests pass untranslated, then
 * chat, then responses, then messages. Undefined when the model has none that the route speaks.
 */
export function chooseEndpoint(model: { readonly endpoints: readonly string[] }, ask: EndpointAsk): string | undefined {
  const fallbacks = [chatEndpoint, responsesEndpoint, messagesEndpoint]
  const order = ask.setting === 'chat' ? [chatEndpoint, ask.callerPath, ...fallbacks] : [ask.callerPath, ...fallbacks]
  return order.find((path) => model.endpoints.includes(path) && ask.spoken.includes(path))
}

/** The upstream dialect behind each of a model's three routes. */
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
