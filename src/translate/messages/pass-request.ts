import type { CallerRequest, EncodeContext, EncodedRequest } from '../dialect.ts'
import { spliceMembers } from '../parts/json-members.ts'
import { isLegalName } from '../prepare/short-name.ts'
import { adaptRequest } from './adapt/adapt.ts'
import { targetOf } from './adapt/target.ts'
import { isCallersOwn } from './adapt/tool-rules.ts'
import { encodeHeaders } from './encode-headers.ts'
import { markForCaching } from './mark-for-caching.ts'
import { isBlock, messagesBodyOf } from './wire-request.ts'
import type { MessagesBody, MessagesMessage, MessagesRequest } from './wire-request.ts'

/**
 * The body for Copilot's native Messages: the caller's own text, in which only the members that must change are written
 * anew; those of a long conversation without any cache mark get marks. It always streams, because the reply is made from the events.
 *
 * @returns undefined where a tool's name is refused by upstream, or a web search is to be run here: only a translated reply
 * can give back the name, or hold the search
 * @throws Fault `invalid_request`
 */
export function passMessagesRequest(request: CallerRequest, context: EncodeContext): EncodedRequest | undefined {
  const source = messagesBodyOf(request)
  if (needsRenaming(source.value) || (offersSearch(source.value) && context.canSearch?.() === true)) return undefined
  const { body, betas, warnings } = adaptRequest(
    { body: isWorthCaching(source) ? markForCaching(source.value) : source.value, betas: source.betas },
    targetOf(context.model, context.lessons),
  )
  const upstream: MessagesRequest = { ...body, model: context.model.id, stream: true }
  return { body: spliceMembers(source, changes(source.value, upstream)), headers: encodeHeaders(betas), warnings }
}

/** Claude caches no prompt of fewer than 1024 tokens. Source: Anthropic documentation, prompt caching, 2026-11. Bytes. */
const LEAST_CACHED = 4096

/**
 * The prompt comes again with more behind it, so that a mark pays: what is written to the cache costs more than other
 * input, and a single question is not asked twice.
 */
function isWorthCaching({ bytes, value }: MessagesBody): boolean {
  if (bytes.length < LEAST_CACHED || value['cache_control']) return false
  return Boolean(value.tools?.length) || value.messages.some(({ role }) => role === 'assistant')
}

/** Longest name of a tool, in characters. Source: Anthropic API reference, tools, 2026-11. */
const MAX_TOOL_NAME = 128

function needsRenaming({ tools, messages }: MessagesRequest): boolean {
  return (
    tools?.some((tool) => isCallersOwn(tool) && !isLegalName(tool.name ?? '', MAX_TOOL_NAME)) === true ||
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

/** Members that differ, by identity: whatever is changed is a new value. */
function changes(before: MessagesRequest, after: MessagesRequest): ReadonlyMap<string, unknown> {
  return new Map(Object.entries(after).filter(([key, value]) => before[key] !== value))
}
