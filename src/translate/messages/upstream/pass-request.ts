import type { CallerRequest, EncodeContext, EncodedRequest } from '../../dialect.ts'
import { changedMembers, spliceMembers } from '../../../json/json-members.ts'
import { isLegalName } from '../../parts/ids.ts'
import { adaptRequest } from './adapt/adapt.ts'
import { targetOf } from './adapt/target.ts'
import { isCallerTool } from './adapt/tool-rules.ts'
import { encodeHeaders } from './sent-request.ts'
import { isBlock, messagesBodyOf } from '../wire.ts'
import type { MessagesBody, MessagesMessage, MessagesRequest } from '../wire.ts'

/**
 * Returns the body for Copilot's native Messages: the caller's text with only the necessary changes. A long
 * conversation without cache marks gets some. The body always asks for a stream, because replies are made from events.
 * @returns undefined if upstream refuses the name of a tool, or the proxy runs the web search: only a translated reply
 * can restore the name or hold the search
 * @throws Fault `invalid_request`
 */
export function passMessagesRequest(request: CallerRequest, context: EncodeContext): EncodedRequest | undefined {
  const source = messagesBodyOf(request)
  if (needsRenaming(source.value) || (offersSearch(source.value) && context.canSearch?.() === true)) return undefined
  const { body, betas, warnings } = adaptRequest(
    { body: source.value, betas: source.betas, marksCache: isWorthCaching(source) },
    targetOf(context.model, context.learnedRefusals),
  )
  const upstream: MessagesRequest = { ...body, model: context.model.id, stream: true }
  return {
    body: spliceMembers(source, changedMembers(source.value, upstream)),
    headers: encodeHeaders(betas),
    warnings,
  }
}

/** Bytes. Claude caches no prompt of fewer than 1024 tokens. Source: Anthropic documentation, prompt caching, 2026-11. */
const LEAST_CACHED = 4096

/**
 * Whether later requests will probably repeat the prompt: it has tools or an assistant message. Writing to the cache
 * costs more than other input, so a mark does not pay for a single question.
 */
function isWorthCaching({ bytes, value }: MessagesBody): boolean {
  if (bytes.length < LEAST_CACHED || value['cache_control']) return false
  return Boolean(value.tools?.length) || value.messages.some(({ role }) => role === 'assistant')
}

/** Longest name of a tool, in characters. Source: Anthropic API reference, tools, 2026-11. */
const MAX_TOOL_NAME = 128

function needsRenaming({ tools, messages }: MessagesRequest): boolean {
  return (
    tools?.some((tool) => isCallerTool(tool) && !isLegalName(tool.name ?? '', MAX_TOOL_NAME)) === true ||
    messages.some(callsByIllegalName)
  )
}

function offersSearch({ tools }: MessagesRequest): boolean {
  return tools?.some(({ type }) => type?.startsWith('web_search_') === true) === true
}

function callsByIllegalName({ role, content }: MessagesMessage): boolean {
  if (role !== 'assistant' || typeof content !== 'object' || content === null) return false
  return content.some((block) => isBlock(block, 'tool_use') && !isLegalName(block.name, MAX_TOOL_NAME))
}
