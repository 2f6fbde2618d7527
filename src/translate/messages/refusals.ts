import { withJsonHint } from './json-hint.ts'
import { shapeOf } from './key-path.ts'
import { lesson } from './lessons.ts'
import { contentBlocks, isBlankBlock, tellTool } from './reminder.ts'
import { isBlock, type MessagesBlock, type MessagesMessage, type MessagesRequest } from './wire-request.ts'

/** What may help after upstream refused a request. */
export interface Remedy {
  /** In the words of `lessons.ts`; remembered for the model. */
  readonly lessons?: readonly string[]
  /** The same, for this request alone: it is about the backend that happened to answer, or about what was said. */
  readonly passing?: readonly string[]
  /** What the rules cannot know. */
  readonly edit?: ((body: MessagesRequest) => MessagesRequest) | undefined
  /** What was refused, for the warning. */
  readonly field: string
}

export interface Refused {
  readonly body: MessagesRequest
  readonly betas: readonly string[]
}

/** One wording of a refusal. */
export interface Refusal {
  readonly name: string
  /** `messages, x` is row x of docs/copilot-wire.md, "Messages requests". */
  readonly source: string
  /** Of upstream's code and message. */
  readonly pattern: RegExp
  /** Undefined: nothing can be done about it after all. */
  readonly remedy: (match: RegExpExecArray, refused: Refused) => Remedy | undefined
}

/** The first that matches counts. */
export const refusals: readonly Refusal[] = [
  {
    name: 'named betas',
    source: 'messages, betas',
    pattern: /unsupported beta header\(s\):\s*([\w.,\s-]{1,1000})/i,
    remedy: ([, names = ''], { betas }) => {
      const named = new Set(names.split(',').map((name) => name.trim()))
      const refused = betas.filter((beta) => named.has(beta))
      return refused.length === 0 ? undefined : { lessons: refused.map(lesson.beta), field: 'anthropic-beta' }
    },
  },
  {
    name: 'some beta',
    source: 'messages, betas: a backend that names none',
    pattern: /invalid beta flag/i,
    remedy: (_match, { betas }) =>
      betas.length === 0 ? undefined : { passing: betas.map(lesson.beta), field: 'anthropic-beta' },
  },
  {
    name: 'keys',
    source: 'messages, unknown fields',
    pattern: /([\w.-]{1,300}): Extra inputs are not permitted/,
    remedy: ({ input }) => {
      const named = [...input.matchAll(/([\w.-]{1,300}): Extra inputs are not permitted/g)]
      const shapes = new Set(named.flatMap(([, path = '']) => shapeOf(path) ?? []))
      const [first] = shapes
      return first === undefined ? undefined : { lessons: [...shapes].map(lesson.key), field: first }
    },
  },
  {
    name: 'system messages',
    source: 'messages, system messages',
    pattern: /Unexpected role "system"|role '?"?system'?"? is not supported/i,
    remedy: () => ({ lessons: [lesson.systemMessages()], field: 'messages' }),
  },
  {
    name: 'a level of effort',
    source: 'messages, effort',
    pattern: /effort.{0,500}supported values:?\s*\[([^\]]{0,200})\]/is,
    remedy: ([, list = '']) => {
      const levels = list.match(/[a-z]+/g) ?? []
      return { lessons: [lesson.efforts(levels)], field: 'output_config.effort' }
    },
  },
  {
    name: 'effort as such',
    source: 'messages, effort',
    pattern: /does not support (?:the )?(?:reasoning )?effort/i,
    remedy: () => ({ lessons: [lesson.efforts([])], field: 'output_config.effort' }),
  },
  {
    name: 'thinking by budget',
    source: 'messages, thinking',
    pattern: /thinking\.type\.enabled\W{0,3} is not supported/,
    remedy: () => ({ lessons: [lesson.thinking('adaptive')], field: 'thinking' }),
  },
  {
    name: 'no thinking',
    source: 'messages, thinking: a guess at what models say that always think',
    pattern: /thinking\.type\.disabled\W{0,3} is not supported|thinking: Input tag 'disabled'/,
    remedy: () => ({ lessons: [lesson.alwaysThinks()], field: 'thinking' }),
  },
  {
    name: 'adaptive thinking',
    source: 'messages, thinking',
    pattern: /adaptive thinking is not supported|thinking\.type\.adaptive\W{0,3} is not supported/i,
    remedy: () => ({ lessons: [lesson.thinking('budget')], field: 'thinking' }),
  },
  {
    name: 'a thinking block',
    source: 'messages, thinking blocks',
    pattern:
      /Invalid `?(?:signature|data)`? in `?(?:redacted_)?thinking`?|each thinking block must contain|`?redacted_thinking`? blocks in the latest assistant message cannot be modified/i,
    remedy: () => ({ edit: withoutThoughts, field: 'messages' }),
  },
  {
    name: 'thinking where the last turn has none',
    source: 'Anthropic API reference, extended thinking with tool use, 2026-11',
    pattern: /Expected `?thinking`? or `?redacted_thinking`?, but found/i,
    remedy: () => ({ edit: withoutThinking, field: 'thinking' }),
  },
  {
    name: 'thinking beside a forced tool',
    source: 'Anthropic API reference, extended thinking with tool use, 2026-11',
    pattern: /Thinking may not be enabled when tool_choice forces tool use/i,
    remedy: () => ({ lessons: [lesson.thinksUnforced()], edit: withoutThinking, field: 'thinking' }),
  },
  {
    name: 'structured outputs',
    source: 'messages, structured outputs',
    pattern: /structured_outputs/,
    remedy: () => ({ edit: withoutFormat, field: 'output_config.format' }),
  },
  {
    name: 'a tool reference',
    source: 'messages, tool search',
    pattern: /Tool reference '([^']{1,200})' not found in available tools/,
    remedy: ([, name = '']) => ({ edit: (body) => withToolAtOnce(body, name), field: 'tools' }),
  },
  {
    name: 'a server tool of the history',
    source: 'messages, tool search',
    pattern: /Tool '([^']{1,200})' not found in provided tools/,
    remedy: ([, name = '']) => ({ edit: (body) => withoutServerCalls(body, name), field: 'messages' }),
  },
  {
    name: 'a server tool',
    source: 'messages, server tools',
    pattern: /The use of the ([\w ]{1,40}) tool is not supported/i,
    remedy: ([, name = ''], { body }) => {
      const prefix = name.trim().toLowerCase().replaceAll(' ', '_')
      const types = body.tools?.flatMap(({ type }) => (type?.startsWith(prefix) === true ? [type] : [])) ?? []
      if (types.length === 0) return undefined
      return { lessons: types.map((tag) => lesson.tag({ member: 'tools', tag })), field: 'tools' }
    },
  },
  {
    name: 'a type',
    source: 'messages, tool types',
    pattern: /([\w.-]{1,300}): Input tag '([\w.-]{1,100})'/,
    remedy: ([, path = '', tag = '']) => {
      const [member = ''] = path.split('.')
      // A block that every model takes stands in the wrong place, and without it no conversation is left of the next.
      if (member === 'messages' && TAKEN_BLOCKS.has(tag)) return undefined
      if (member === 'tools' || member === 'messages') return { lessons: [lesson.tag({ member, tag })], field: member }
      if (member === 'thinking') {
        const way = OTHER_WAY.get(tag)
        return way === undefined ? undefined : { lessons: [lesson.thinking(way)], field: member }
      }
      // An edit of the context that upstream does not know.
      return member === 'context_management' ? { lessons: [lesson.key(member)], field: member } : undefined
    },
  },
  {
    name: 'clearing thoughts without thinking',
    source: 'messages, context management',
    pattern: /clear_thinking\w*`? strategy requires/i,
    remedy: () => ({ edit: (body) => ({ ...body, context_management: undefined }), field: 'context_management' }),
  },
  {
    name: 'max_tokens',
    source: 'messages, max_tokens',
    pattern: /max_tokens: \d+ > (\d{1,9}), which is the maximum/,
    remedy: ([, limit = '']) => ({ lessons: [lesson.maxTokens(Number(limit))], field: 'max_tokens' }),
  },
  {
    name: 'blank text',
    source: 'messages, empty text',
    pattern: /text content blocks must (?:be non-empty|contain non-whitespace)/,
    remedy: () => ({ edit: withoutBlankText, field: 'messages' }),
  },
  {
    name: 'sampling',
    source: 'messages, sampling',
    pattern:
      /`?(?:temperature|top_p|top_k)`?[^.]{0,80}(?:cannot both|may only be set|not supported|deprecated|unsupported|must be unset)/i,
    remedy: () => ({ edit: withoutSampling, field: 'temperature' }),
  },
]

/** Source: Anthropic API reference, Messages, 2026-11. */
const TAKEN_BLOCKS: ReadonlySet<string> = new Set([
  'text',
  'image',
  'document',
  'search_result',
  'thinking',
  'redacted_thinking',
  'tool_use',
  'tool_result',
])

/** How a model thinks that refuses a `thinking.type`. A word nobody knows says nothing about the model. */
const OTHER_WAY: ReadonlyMap<string, 'adaptive' | 'budget'> = new Map([
  ['adaptive', 'budget'],
  ['enabled', 'adaptive'],
  ['between_tools', 'adaptive'],
])

/** All of them: the refusal names one, and the next would name the next. */
function withoutThoughts(body: MessagesRequest): MessagesRequest {
  return filterBlocks(body, ({ type }) => type !== 'thinking' && type !== 'redacted_thinking')
}

function withoutThinking(body: MessagesRequest): MessagesRequest {
  return { ...body, thinking: { type: 'disabled' } }
}

/** What was to be enforced is asked for in words. */
function withoutFormat(body: MessagesRequest): MessagesRequest {
  const { format, ...config } = body.output_config ?? {}
  return {
    ...body,
    ...(format && { system: withJsonHint(body.system ?? undefined, format.schema ?? undefined) }),
    output_config: Object.keys(config).length === 0 ? undefined : config,
    tools: body.tools?.map((tool) => (tool.strict ? { ...tool, strict: undefined } : tool)),
  }
}

function withoutSampling(body: MessagesRequest): MessagesRequest {
  return { ...body, temperature: undefined, top_p: undefined, top_k: undefined }
}

function withToolAtOnce(body: MessagesRequest, name: string): MessagesRequest {
  const isDeferred = body.tools?.some((tool) => tool.name === name && tool.defer_loading === true) === true
  if (isDeferred) {
    return {
      ...body,
      tools: body.tools?.map((tool) => (tool.name === name ? { ...tool, defer_loading: undefined } : tool)),
    }
  }
  return mapBlocks(body, (block) =>
    isBlock(block, 'tool_reference') && block.tool_name === name ? { type: 'text', text: tellTool(name) } : block,
  )
}

function withoutServerCalls(body: MessagesRequest, name: string): MessagesRequest {
  const dropped = new Set<unknown>()
  const isOfTool = (block: MessagesBlock): boolean => {
    if (block.type === 'server_tool_use' && block['name'] === name) {
      dropped.add(block['id'])
      return true
    }
    return block.type !== 'tool_result' && block.type.endsWith('_tool_result') && dropped.has(block['tool_use_id'])
  }
  return filterBlocks(body, (block) => !isOfTool(block))
}

function withoutBlankText(body: MessagesRequest): MessagesRequest {
  const { system } = body
  return filterBlocks(typeof system === 'object' ? { ...body, system: system?.filter(isFilled) } : body, isFilled)
}

function isFilled(block: MessagesBlock): boolean {
  return !isBlankBlock(block)
}

function filterBlocks(body: MessagesRequest, isKept: (block: MessagesBlock) => boolean): MessagesRequest {
  return editContents(body, (content) => content.filter(isKept))
}

function mapBlocks(body: MessagesRequest, map: (block: MessagesBlock) => MessagesBlock): MessagesRequest {
  return editContents(body, (content) => content.map(map))
}

/** Contents of messages and of the tool results in them; a message that is left without content goes. */
function editContents(
  body: MessagesRequest,
  edit: (content: readonly MessagesBlock[]) => readonly MessagesBlock[],
): MessagesRequest {
  const editResult = (block: MessagesBlock): MessagesBlock => {
    if (!isBlock(block, 'tool_result') || typeof block.content !== 'object') return block
    return { ...block, content: edit(contentBlocks(block.content)) }
  }
  const messages = body.messages.flatMap((message): readonly MessagesMessage[] => {
    if (typeof message.content === 'string') return [message]
    const content = edit(message.content ?? []).map(editResult)
    return content.length === 0 ? [] : [{ ...message, content }]
  })
  return { ...body, messages }
}
