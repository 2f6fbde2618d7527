import { isObject } from '../../../json/json.ts'
import type { ReplyEffects } from '../../engine/reply-effects.ts'
import { createToolNames } from '../../engine/tool-codec/tool-names.ts'
import { mapBlocks, mapSame } from '../content.ts'
import { isBlock, type MessagesBlock, type MessagesRequest } from '../wire.ts'
import { isCallerTool } from './tool-rules.ts'

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
  const { messages, tool_choice: choice } = body
  const tools = body.tools ?? []
  const offered = tools.filter(isCallerTool).flatMap(({ name }) => (name ? [{ name, kind: 'function' as const }] : []))
  const own = new Set(tools.flatMap((tool) => (isCallerTool(tool) || !tool.name ? [] : [tool.name])))
  const names = createToolNames(offered, { longest: LONGEST_TOOL_NAME }, false)
  // The names of tools that Anthropic defines are fixed.
  const named = (name: string): string => (name === '' || own.has(name) ? name : names.upstreamName({ name }))
  const namedTools = mapSame(tools, (tool) => {
    const name = tool.name && isCallerTool(tool) ? named(tool.name) : tool.name
    return name === tool.name ? tool : { ...tool, name }
  })
  const namedMessages = mapSame(messages, (message) => mapBlocks(message, (block) => nameBlock(block, named)))
  const chosenName = choice?.type === 'tool' && choice.name ? named(choice.name) : choice?.name
  const chosen = choice && chosenName !== choice.name ? { ...choice, name: chosenName } : choice
  if (namedTools === tools && namedMessages === messages && chosen === choice) return { body }
  return {
    body: {
      ...body,
      ...(namedTools !== tools && { tools: namedTools }),
      messages: namedMessages,
      ...(chosen && { tool_choice: chosen }),
    },
    effects: { tools: names.identities },
  }
}

function nameBlock(block: MessagesBlock, named: (name: string) => string): MessagesBlock {
  if (isBlock(block, 'tool_use')) {
    const name = named(block.name)
    return name === block.name ? block : { ...block, name }
  }
  return block.type.endsWith('_result') ? nameReferences(block, named) : nameReference(block, named)
}

/** References are in the content of a result, or in the list of a search's result. Other content may be anything. */
function nameReferences(block: MessagesBlock, named: (name: string) => string): MessagesBlock {
  const { content } = block
  if (Array.isArray(content)) {
    const inner = mapSame<unknown>(content, (each) => nameReference(each, named))
    return inner === content ? block : { ...block, content: inner }
  }
  if (!isObject(content) || !Array.isArray(content['tool_references'])) return block
  const references: readonly unknown[] = content['tool_references']
  const inner = mapSame(references, (each) => nameReference(each, named))
  return inner === references ? block : { ...block, content: { ...content, tool_references: inner } }
}

function nameReference<Part>(part: Part, named: (name: string) => string): Part {
  if (!isObject(part) || part['type'] !== 'tool_reference' || typeof part['tool_name'] !== 'string') return part
  const name = named(part['tool_name'])
  return name === part['tool_name'] ? part : { ...part, tool_name: name }
}
