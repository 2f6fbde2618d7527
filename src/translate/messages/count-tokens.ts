import { estimateTokenCount } from 'tokenx'
import type { CallerRequest, EncodeContext, EncodedRequest } from '../dialect.ts'
import { isBlock, messagesBodyOf } from './wire.ts'
import type { MediaSource, MessagesBlock } from './wire.ts'

/** Members that change the count. Source: Anthropic API reference, count tokens, 2026-11. */
const COUNTED = ['system', 'messages', 'tools', 'tool_choice', 'thinking'] as const

/** The body of upstream's token count, which accepts shapes that the Messages route refuses: nothing is repaired. */
export function countRequestBody(
  request: CallerRequest,
  context: EncodeContext,
): Pick<EncodedRequest, 'body' | 'headers'> {
  const { value } = messagesBodyOf(request)
  const counted = COUNTED.flatMap((key) => (value[key] === undefined ? [] : [[key, value[key]] as const]))
  return {
    body: Buffer.from(JSON.stringify({ model: context.model.id, ...Object.fromEntries(counted) })),
    headers: { 'anthropic-version': '2023-06-01' },
  }
}

export interface CountedTexts {
  readonly texts: readonly string[]
  /** Images and documents. */
  readonly images: number
}

/** The text that the model reads, without base64 data, signatures and ciphertext. */
export function textsOfMessages(request: CallerRequest): CountedTexts {
  const { value } = messagesBodyOf(request)
  const texts: string[] = []
  let images = 0

  function addContent(content: unknown): void {
    if (typeof content === 'string') texts.push(content)
    // check-request.ts has checked that these are blocks.
    else if (Array.isArray(content)) content.forEach(addBlock)
  }

  function addBlock(block: MessagesBlock): void {
    if (isBlock(block, 'text')) texts.push(block.text)
    else if (isBlock(block, 'thinking')) texts.push(block.thinking)
    else if (isBlock(block, 'tool_use') || isBlock(block, 'server_tool_use')) {
      texts.push(block.name, JSON.stringify(block.input ?? {}))
    } else if (isBlock(block, 'tool_result')) addContent(block.content)
    else if (isBlock(block, 'image')) images += 1
    else if (isBlock(block, 'document')) {
      addTexts(block.title, block.context)
      addSource(block.source)
    } else if (isBlock(block, 'search_result')) {
      addTexts(block.title, block.source)
      addContent(block.content)
    } else if (isBlock(block, 'tool_reference')) texts.push(block.tool_name)
    else if (typeof block['content'] === 'string') texts.push(block['content'])
  }

  function addSource({ type, data, content }: MediaSource): void {
    if (type === 'text') addTexts(data)
    else if (type === 'content') addContent(content)
    else images += 1
  }

  function addTexts(...added: readonly (string | null | undefined)[]): void {
    for (const text of added) if (typeof text === 'string' && text !== '') texts.push(text)
  }

  addContent(value.system)
  for (const { name, description, input_schema: schema } of value.tools ?? []) {
    texts.push(JSON.stringify({ name, description, input_schema: schema }))
  }
  for (const { content } of value.messages) addContent(content)
  return { texts, images }
}

/** The most that an image costs. Source: Anthropic documentation, vision, 2026-11: (width × height) / 750, up to 1.15 MP. */
const tokensPerImage = 1600

/** Roles and separators, in every format. */
const tokensPerText = 4

/**
 * Estimates by rules instead of a tokeniser. The models of Copilot use several tokenisers, one of them unpublished,
 * and their tables would be larger than the program. Within 6 % of OpenAI's o200k for prose, code and JSON; too low for
 * hashes.
 */
export function estimateTokens(request: CallerRequest): number {
  const { texts, images } = textsOfMessages(request)
  const textTokens = texts.reduce((sum, text) => sum + estimateTokenCount(text) + tokensPerText, 0)
  // Upstream never answers 0.
  return Math.max(1, textTokens + images * tokensPerImage)
}
