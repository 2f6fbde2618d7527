import { isObject } from '../../../json/json.ts'
import type { ReplyEffects } from '../../engine/reply-effects.ts'
import { createToolNames } from '../../engine/tool-names.ts'
import { isLegalName } from '../../parts/ids.ts'
import { mapBlocks, mapSame } from '../content.ts'
import { isBlock, type MessagesBlock, type MessagesMessage, type MessagesRequest } from '../wire.ts'
import { isCallerTool } from './adapt/tool-rules.ts'

/**
 * Characters. Anthropic takes 128, but Bedrock, one of the hosts behind Copilot, takes 64 (openai/codex#46188). Source:
 * Anthropic API reference, tools, 2026-11; docs/copilot-wire.md, "messages, tool names".
 */
const LONGEST_TOOL_NAME = 64

/**
 * Gives tools names that every host takes. Calls of the history, references and `tool_choice` follow. Keeps all other
 * members, and returns the same body if nothing changes.
 */
export function nameTools(body: MessagesRequest): { readonly body: MessagesRequest; readonly effects?: ReplyEffects } {
  if (areTaken(body)) return { body }
  const offered = (body.tools ?? []).filter(isCallerTool).flatMap(({ name }) => (name ? [name] : []))
  const own = new Set((body.tools ?? []).flatMap((tool) => (isCallerTool(tool) || !tool.name ? [] : [tool.name])))
  const tools = offered.map((name) => ({ name, kind: 'function' as const }))
  const names = createToolNames(tools, { longest: LONGEST_TOOL_NAME }, false)
  // The names of tools that Anthropic defines are fixed.
  const named = (name: string): string => (name === '' || own.has(name) ? name : names.upstreamName({ name }))
  const choice = body.tool_choice
  return {
    body: {
      ...body,
      ...(body.tools && {
        tools: mapSame(body.tools, (tool) =>
          isCallerTool(tool) && tool.name && named(tool.name) !== tool.name
            ? { ...tool, name: named(tool.name) }
            : tool,
        ),
      }),
      messages: mapSame(body.messages, (message) => mapBlocks(message, (block) => nameBlock(block, named))),
      ...(choice?.type === 'tool' &&
        typeof choice.name === 'string' && { tool_choice: { ...choice, name: named(choice.name) } }),
    },
    effects: { tools: names.identities },
  }
}

function nameBlock(block: MessagesBlock, named: (name: string) => string): MessagesBlock {
  if (isBlock(block, 'tool_use')) {
    const name = named(block.name)
    return name === block.name ? block : { ...block, name }
  }
  if (isBlock(block, 'tool_reference')) {
    const name = named(block.tool_name)
    return name === block.tool_name ? block : { ...block, tool_name: name }
  }
  const { content } = block
  const isResult = block.type.endsWith('_result')
  if (!isResult || (!Array.isArray(content) && !isObject(content))) return block
  return nameInside(block, named)
}

/** References are in the content of a result, or in the list of a search's result. */
function nameInside(block: MessagesBlock, named: (name: string) => string): MessagesBlock {
  const { content } = block
  if (Array.isArray(content)) {
    // check-request.ts has checked that these are blocks.
    const blocks: readonly MessagesBlock[] = content
    const inner = mapSame(blocks, (each) => nameBlock(each, named))
    return inner === blocks ? block : { ...block, content: inner }
  }
  if (!isObject(content) || !Array.isArray(content['tool_references'])) return block
  const references = content['tool_references'].map((each: unknown) =>
    isObject(each) && typeof each['tool_name'] === 'string' ? { ...each, tool_name: named(each['tool_name']) } : each,
  )
  return { ...block, content: { ...content, tool_references: references } }
}

function areTaken({ tools, messages }: MessagesRequest): boolean {
  return (
    tools?.some((tool) => isCallerTool(tool) && !isLegalName(tool.name ?? '', LONGEST_TOOL_NAME)) !== true &&
    !messages.some(callsByOtherName)
  )
}

function callsByOtherName({ role, content }: MessagesMessage): boolean {
  if (role !== 'assistant' || typeof content !== 'object' || content === null) return false
  return content.some((block) => isBlock(block, 'tool_use') && !isLegalName(block.name, LONGEST_TOOL_NAME))
}
